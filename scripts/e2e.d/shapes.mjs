// Owns the shortening of a recorded request to what stays the same from machine to machine and from day to day: keys,
// types and small values. Leaves the recording to gemini_api.mjs.

const LONGEST_CHARS = 60;

/** Of the connection, not of the request. */
const LEFT_OUT = ['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'];

/** `{verb, path, headers, body}` of a record of gemini_api.mjs; `place` is the directory of the run. */
export function shapeOf({ verb, path, headers, body }, place) {
  return { verb, path, headers: headersOf(headers), body: shortened(body, place) };
}

function headersOf(headers) {
  const kept = Object.keys(headers).filter((name) => !LEFT_OUT.includes(name));
  return Object.fromEntries(kept.sort().map((name) => [name, headerOf(name, headers[name])]));
}

function headerOf(name, value) {
  if (name === 'x-goog-api-key') return '<key>';
  if (name === 'authorization') return value.replace(/ .*/, ' <token>');
  return value
    .replaceAll(/\bv?\d+\.\d+\.\d+[\w.-]*/g, '<version>')
    .replace(`(${process.platform}; ${process.arch}`, '(<platform>; <arch>')
    .replaceAll(UUID, '<id>');
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const MADE_ANEW = ['user_prompt_id', 'session_id'];
const SERIAL = /\d{10,}[\w-]*/g;

function shortened(value, place, key = '') {
  if (Array.isArray(value)) return value.map((element) => shortened(element, place));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner, place, name)]));
  }
  if (typeof value !== 'string') return value;
  if (MADE_ANEW.includes(key)) return '<id>';
  const isLong = value.length > LONGEST_CHARS || value.includes('\n');
  if (key === 'description' || isLong || value.includes(place)) return '<text>';
  return value.replaceAll(UUID, '<id>').replaceAll(SERIAL, '<id>');
}
