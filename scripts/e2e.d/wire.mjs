// Owns the bytes: turns a reply into the body that a method has, whole or broken, and writes it at the pace that is asked
// for. Leaves what is said to contents.mjs, and what is broken to faults.mjs.

import { enveloped } from './transports.mjs';

const LINE_ENDS = { crlf: '\r\n', lf: '\n', cr: '\r' };

/** Text that stands where a document is expected, as it is. A bare one stands outside of every event. */
export class Verbatim {
  constructor(text, { bare = false } = {}) {
    this.text = text;
    this.bare = bare;
  }
}

/**
 * Sends a reply: `{status, headers}` with one of `documents` (of the model), `body` (JSON) and `text`; `sse` says how
 * events are written, `pace` is `{bytes, everyMs}`, and `ending` is `{how, at}`, how the answer ends and at which piece.
 */
export async function send(response, reply, route) {
  const { how = 'end', at = Infinity } = reply.ending ?? {};
  if (how === 'nothing') return;
  if (how === 'hang-up') {
    response.socket.destroy();
    return;
  }
  const { type, pieces } = bodyOf(reply, route);
  const isWhole = how === 'end' && !reply.pace && !streams(route, reply);
  const length = isWhole && { 'content-length': pieces[0].length };
  response.writeHead(reply.status ?? 200, { ...(type && { 'content-type': type }), ...length, ...reply.headers });
  if (isWhole) {
    response.end(pieces[0]);
    return;
  }
  response.flushHeaders();
  const broken = how === 'end' || how === 'silence' ? undefined : Math.min(at, pieces.length - 1);
  for (const piece of pieces.slice(0, broken ?? at)) await write(response, piece, reply.pace);
  if (how === 'end') response.end();
  else if (broken !== undefined) await breakOff(response, pieces[broken], how);
}

/** The first half of a piece, and then the end of the body (`half`) or of the connection in the middle of a chunk. */
async function breakOff(response, piece, how) {
  const half = piece.subarray(0, Math.ceil(piece.length / 2));
  if (how === 'half') {
    response.end(half);
    return;
  }
  const { socket } = response;
  // The announced length is that of the whole piece, so that the chunk stays unfinished.
  const chunk = Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), half]);
  await new Promise((resolve) => socket.write(chunk, resolve));
  if (how === 'reset') socket.resetAndDestroy();
  else socket.destroySoon();
}

async function write(response, piece, pace) {
  if (!pace) {
    await new Promise((resolve) => response.write(piece, resolve));
    return;
  }
  for (let from = 0; from < piece.length && !response.destroyed; from += pace.bytes) {
    response.write(piece.subarray(from, from + pace.bytes));
    await new Promise((resolve) => setTimeout(resolve, pace.everyMs));
  }
}

function streams({ method }, { text, body, documents }) {
  return method === 'streamGenerateContent' && text === undefined && body === undefined && documents !== undefined;
}

function bodyOf(reply, route) {
  if (reply.text !== undefined) return { pieces: [Buffer.from(reply.text)] };
  const isJson = reply.body !== undefined || !reply.documents;
  if (isJson) return { type: reply.body === undefined ? undefined : JSON_TYPE, pieces: [jsonBytes(reply.body)] };
  const { transport, alt } = route;
  const isStream = streams(route, reply);
  const documents = isStream ? reply.documents : [merged(reply.documents)];
  const texts = documents.map((document) => textOf(document, transport));
  if (isStream && alt === 'sse') return { type: 'text/event-stream', pieces: events(documents, texts, reply.sse) };
  // Without alt=sse the stream is one JSON list, which arrives element by element.
  const list = texts.map((text, index) => `${index === 0 ? '[' : ',\n'}${text}${index === texts.length - 1 ? ']' : ''}`);
  return { type: JSON_TYPE, pieces: (isStream ? list : texts).map((text) => Buffer.from(text)) };
}

const JSON_TYPE = 'application/json; charset=UTF-8';

function jsonBytes(body) {
  if (body === undefined) return Buffer.alloc(0);
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function textOf(document, transport) {
  return document instanceof Verbatim ? document.text : JSON.stringify(enveloped(transport, document));
}

/** `{eol, comments, bom, split, fields, noSpace}`: everything that a reader of server-sent events has to bear. */
function events(documents, texts, { eol = 'crlf', comments, bom, split, fields, noSpace } = {}) {
  const end = LINE_ENDS[eol];
  if (!end) throw new Error(`eol: '${eol}' is none of ${Object.keys(LINE_ENDS).join(', ')}`);
  const name = noSpace ? 'data:' : 'data: ';
  return texts.map((text, index) => {
    const document = documents[index];
    if (document.bare) return Buffer.from(`${text}${end}`);
    const isVerbatim = document instanceof Verbatim;
    const data = split && !isVerbatim ? JSON.stringify(JSON.parse(text), null, 1).split('\n') : [text];
    const lines = [
      ...(comments ? [': a comment, which is no data', ':', ''] : []),
      ...(fields ? ['event: message', `id: ${index}`, 'retry: 1000'] : []),
      ...data.map((line) => `${name}${line}`),
      ...(comments ? [': another, inside of the event'] : []),
      '',
    ];
    const start = bom && index === 0 ? '\ufeff' : '';
    return Buffer.from(start + lines.map((line) => line + end).join(''));
  });
}

/** The chunks of a stream as the one document that `generateContent` answers. */
function merged(documents) {
  const [first, ...others] = documents;
  if (first === undefined) return {};
  const odd = documents.find((document) => document instanceof Verbatim || 'error' in document);
  if (odd || others.length === 0) return odd ?? first;
  const candidates = documents.flatMap((document) => document.candidates?.[0] ?? []);
  const parts = candidates.flatMap((candidate) => candidate.content?.parts ?? []);
  const candidate = Object.assign({}, ...candidates, { content: { role: 'model', parts } });
  return Object.assign({}, ...documents, { candidates: [candidate] });
}
