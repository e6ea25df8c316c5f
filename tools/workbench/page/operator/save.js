// Buttons that save the shown result in each format that its operator writes.
import { blobOf } from '../api.js';
import { makeButton } from '../controls.js';
import { make } from '../frame.js';
import { say } from '../words.js';

const NAMES = { png: 'PNG', tif: 'TIFF', json: 'JSON', csv: 'CSV' };

function download(picture) {
  const link = make('a', { href: `/pictures/${picture.id}/file`, download: '' });
  document.body.append(link);
  link.click();
  link.remove();
}

// The job runs again unless the shown file is in that format already.
async function save(mode, { order, picture }, out) {
  mode.app.warn('');
  if (picture && order.out === out) {
    download(picture);
    return;
  }
  const answer = await mode.execute(order, out);
  if (answer) download(answer.result);
}

// Opens the result as a picture of its own, to go on with.
async function use(mode, picture) {
  try {
    await mode.app.open(await blobOf(picture), picture.name);
  } catch (error) {
    mode.app.warn(error.message);
  }
}

// `shown`: {order, picture}, picture null when the shown file holds only a part.
export function showSaves(box, mode, shown) {
  const { outputs } = shown.order.operator;
  box.replaceChildren(...outputs.filter((out) => NAMES[out])
    .map((out) => makeButton(say('save_as', NAMES[out]), () => save(mode, shown, out))));
  if (shown.picture && shown.order.out === 'tif' && shown.order.operator.name !== 'ranklet') {
    box.append(makeButton(say('use_as_input'), () => use(mode, shown.picture)));
  }
  box.hidden = false;
}
