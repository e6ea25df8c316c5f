// What an operator does with alarms: a POST to the daemon, with the access code where the daemon wants one.
import { byId, setText } from '../frame.js';
import { say } from '../words.js';

const TOKEN_HEADER = 'X-Cernita-Token';

let token = ''; // as long as the browser's tab, where the browser stores nothing as long as the page
let refused = null; // {what, fields} that waits for the access code
let afterwards = () => {};

function recallToken() {
  try {
    return sessionStorage.getItem('token') || token;
  } catch {
    return token;
  }
}

function rememberToken(given) {
  token = given;
  try {
    sessionStorage.setItem('token', given);
  } catch {
    // It lasts as long as the page.
  }
}

// `details`: what the daemon says, in English.
export function tell(text, details = '') {
  setText(byId('alarms-said'), text);
  byId('alarms-details').hidden = details === '';
  setText(byId('alarms-details').lastElementChild, details);
}

function post(what, fields) {
  const known = recallToken();
  const headers = known ? { [TOKEN_HEADER]: known } : {};
  return fetch(`/alarms/${what}`, { method: 'POST', headers, body: new URLSearchParams(fields) });
}

function askForToken(what, fields, details) {
  tell(say(recallToken() ? 'token_wrong' : 'token_wanted'), details);
  refused = { what, fields };
  byId('token-form').hidden = false;
  byId('token').focus();
}

// `what` is acknowledge or shelve; `fields` as the daemon wants them.
export async function act(what, fields) {
  tell('');
  byId('token-form').hidden = true;
  try {
    const answer = await post(what, fields);
    const text = await answer.text();
    if (answer.ok) tell(say('done'));
    else if (answer.headers.get(TOKEN_HEADER) === 'wanted') askForToken(what, fields, text);
    else tell(say('refused'), text);
  } catch {
    tell(say('no_answer'));
  }
  afterwards();
}

// `reload` reads the alarms again; `newest` gives the number of the last one that is shown: what comes while the
// operator's finger goes down is not acknowledged.
export function startActions(reload, newest) {
  afterwards = reload;
  byId('acknowledge-all').addEventListener('click', () => act('acknowledge', { number: 'all', newest: newest() }));
  byId('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    rememberToken(byId('token').value);
    byId('token').value = '';
    act(refused.what, refused.fields);
  });
}
