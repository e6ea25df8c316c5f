// The server's requests; ../README.md has them.

// What the server refuses, in its own words; `status` is HTTP's, 0 without an answer.
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

// Another page's script cannot set it, so it cannot make the server work.
const HEADERS = { 'X-Cernita-Workbench': '1' };

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refusal('cernita-workbench: no answer', 0);
  }
  if (answer.ok) return answer;
  let text = `${answer.status} ${answer.statusText}`;
  try {
    text = (await answer.json()).error || text;
  } catch {
    // The status has to do.
  }
  throw new Refusal(text, answer.status);
}

export async function get(path) {
  return (await ask(path, {})).json();
}

export async function post(path, body = '') {
  return (await ask(path, { method: 'POST', headers: HEADERS, body })).json();
}

export async function bytesOf(path) {
  const answer = await ask(path, { method: 'POST', headers: HEADERS });
  return new Uint8Array(await answer.arrayBuffer());
}

export async function remove(path) {
  return (await ask(path, { method: 'DELETE', headers: HEADERS })).json();
}

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, f16: Float32Array, f32: Float32Array };

// Planes `from` to `from + count - 1`, one after the other, in the picture's type; f16 as f32.
export async function planesOf(picture, from = 0, count = picture.planes) {
  const answer = await ask(`/pictures/${picture.id}/planes?from=${from}&count=${count}`, {});
  return new ARRAYS[picture.type](await answer.arrayBuffer());
}

export async function blobOf(picture) {
  return (await ask(`/pictures/${picture.id}/file`, {})).blob();
}

// Names a job, so that it can be asked about and cancelled while its POST waits. Not a secret:
// crypto.randomUUID is missing on pages that come from another machine without TLS.
export function newToken() {
  const numbers = crypto.getRandomValues(new Uint32Array(3));
  return [...numbers].map((number) => number.toString(16).padStart(8, '0')).join('');
}
