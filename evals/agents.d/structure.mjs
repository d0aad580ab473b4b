// Owns the reduction of a request of the conversation to what two hosts can be compared by, and the finding of the places
// where two of them differ. Judges no difference; agent_differences.mjs does.

import crypto from 'node:crypto';

import { declarationsOf, DISCOVERED, requestIn } from '../../scripts/e2e.d/records.mjs';
import { shapeOf } from '../../scripts/e2e.d/shapes.mjs';
import { PROMPT } from './hosts.mjs';

/** Headers that a client library writes for itself. */
const LEFT_OUT = ['accept', 'accept-encoding', 'accept-language', 'sec-fetch-mode'];

const NONE = '(none)';

/** `ours` are the declarations that the pair prints, by name. */
export function structureOf(entry, { playground, declared }) {
  const request = requestIn(entry.transport, entry.body);
  const { opening, messages } = split(request.contents ?? []);
  const tidy = (value) => tidied(value, playground);
  return {
    path: `${entry.verb} ${entry.path}`,
    headers: headersOf(entry, playground),
    ...(request !== entry.body && { envelope: envelopeOf(entry.body, playground) }),
    keys: Object.keys(request).sort(),
    systemInstruction: messageShape(request.systemInstruction),
    generationConfig: request.generationConfig ?? NONE,
    tools: toolsOf(request, declared),
    opening,
    messages: messages.map((message, index) => messageOf(message, messages[index - 1], tidy)),
  };
}

function headersOf(entry, playground) {
  const { headers } = shapeOf(entry, playground.root);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !LEFT_OUT.includes(name)));
}

function envelopeOf(body, playground) {
  const { request, ...others } = shapeOf({ headers: {}, body }, playground.root).body;
  return { ...others, request: 'the request' };
}

/** The messages up to the one with the prompt, which each host begins in its own words, and those after it. */
function split(contents) {
  const prompt = contents.findIndex(({ parts }) => parts?.some((part) => part.text === PROMPT));
  const opening = contents.slice(0, prompt + 1).map(messageShape).join(' | ');
  return { opening, messages: contents.slice(prompt + 1) };
}

function messageShape(message) {
  if (!message) return NONE;
  const { role, parts = [], ...others } = message;
  return `${role ?? 'no role'}: ${[...parts.map(kindOf), ...Object.keys(others)].join(', ')}`;
}

/** What a part holds, by its keys other than those that only describe it. */
function kindOf(part) {
  if (part.text === PROMPT) return 'the prompt';
  const kind = ['functionCall', 'functionResponse', 'inlineData', 'fileData', 'text'].find((key) => key in part);
  return `${part.thought ? 'thought ' : ''}${kind ?? Object.keys(part).join('+')}`;
}

function toolsOf(request, declared) {
  const found = declarationsOf(request);
  const under = (name) => (found.has(DISCOVERED + name) ? DISCOVERED + name : name);
  const pair = [...declared].map(([name, own]) => {
    const theirs = found.get(under(name));
    if (!theirs) return [name, NONE];
    const { wait_for_previous: wait, ...properties } = theirs.schema.properties ?? {};
    const schema = { ...theirs.schema, properties };
    return [
      name,
      {
        name: under(name),
        description: theirs.description === own.description ? 'as printed' : theirs.description.startsWith(own.description) ? 'longer' : 'another',
        schema: `${same(schema, { properties: {}, ...own.schema }) ? 'as printed' : 'another'}${wait ? ', wait_for_previous' : ''}`,
      },
    ];
  });
  const keys = (request.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []).map((one) => Object.keys(one).sort().join(', '));
  const own = [...declared.keys()].flatMap((name) => [name, DISCOVERED + name]);
  return {
    lists: (request.tools ?? []).map((tool) => Object.keys(tool).join(', ')),
    keysOfDeclarations: [...new Set(keys)],
    ofThePair: Object.fromEntries(pair),
    ofTheHost: [...found.keys()].some((name) => !own.includes(name)) ? 'some' : NONE,
  };
}

function same(one, other) {
  return sorted(one) === sorted(other);
}

function sorted(value) {
  return JSON.stringify(value, (_, inner) =>
    inner && typeof inner === 'object' && !Array.isArray(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner,
  );
}

function messageOf(message, previous, tidy) {
  const { role = NONE, parts = [] } = message;
  const shape = { role, kinds: parts.map(kindOf).join(', ') };
  const others = Object.keys(message).filter((key) => !['role', 'parts'].includes(key));
  if (others.length > 0) shape.keys = others.join(', ');
  if (role === 'model') return { ...shape, parts: parts.map((part) => modelPart(part, tidy)) };
  return { ...shape, responses: responsesOf(parts, previous, tidy) };
}

function modelPart(part, tidy) {
  const { functionCall, text, thoughtSignature, ...others } = part;
  return {
    ...(functionCall && { name: functionCall.name, id: idOf(functionCall.id), args: tidy(sorted(functionCall.args)) }),
    ...(functionCall && otherKeysOf(functionCall, ['name', 'id', 'args'])),
    ...(text !== undefined && { text: tidy(text) }),
    signature: thoughtSignature ? signatureOf(thoughtSignature) : NONE,
    ...(Object.keys(others).length > 0 && { others }),
  };
}

/** Scripts sign with some text; what is none is shown as it is. */
function signatureOf(signature) {
  const text = Buffer.from(signature, 'base64').toString('utf8');
  return /^signature /.test(text) ? text : signature;
}

function otherKeysOf(value, known) {
  const keys = Object.keys(value).filter((key) => !known.includes(key));
  return keys.length > 0 ? { otherKeys: keys.join(', ') } : {};
}

/** Ids of scripts have one letter; others have been made by the host. */
function idOf(id) {
  if (id === undefined) return NONE;
  return id.length === 1 ? id : '(made)';
}

/** The answers of a message, each with the texts and media that came with it, wherever they stand. */
function responsesOf(parts, previous, tidy) {
  const calls = (previous?.parts ?? []).flatMap((part) => part.functionCall ?? []);
  const responses = [];
  for (const part of parts) {
    if (part.functionResponse) responses.push(responseOf(part.functionResponse, calls[responses.length], tidy));
    else if (part.inlineData) responses.at(-1)?.media.push(mediumOf(part.inlineData));
    else responses.at(-1)?.beside.push(tidy(part.text ?? JSON.stringify(part)));
  }
  return responses.map(({ beside, ...response }) => {
    if (beside.length === 0) return response;
    const form = response.said === IS_BESIDE ? 'texts beside it' : 'text, and texts beside it';
    return { ...response, form, said: beside.join('\n') };
  });
}

/** What stands in the answer where the tool's texts stand beside it. */
const IS_BESIDE = 'Tool execution succeeded.';

function responseOf(functionResponse, call, tidy) {
  const { id, name, response = {}, parts = [] } = functionResponse;
  const { form, said, media } = unwrapped(response);
  return {
    name,
    id: call?.id !== undefined && id === call.id ? 'that of its call' : idOf(id),
    keys: Object.keys(functionResponse).sort().join(', '),
    keysOfResponse: Object.keys(response).sort().join(', '),
    form,
    said: tidy(said),
    beside: [],
    media: [...parts.flatMap((part) => part.inlineData ?? []), ...media].map(mediumOf),
  };
}

function mediumOf({ mimeType, data }) {
  return `${mimeType}, ${crypto.createHash('sha256').update(data).digest('hex').slice(0, 8)}`;
}

const FIVE_LINES = /^Stdout: ([^]*)\nStderr: \(empty\)\nError: \(none\)\nExit Code: \d+\nSignal: \(none\)$/;

/** What our call command has said, also where the host passes on the document that it has printed, or makes five lines of it. */
function unwrapped(response) {
  const text = response.output ?? response.error;
  if (typeof text !== 'string') return { form: 'neither output nor error', said: JSON.stringify(response), media: [] };
  const [, stdout] = FIVE_LINES.exec(text.trimEnd()) ?? [];
  const inner = printed(stdout ?? text);
  if (!inner) return { form: 'text', said: text, media: [] };
  return {
    form: stdout === undefined ? 'the printed document' : 'five lines around the printed document',
    said: inner.response.output ?? inner.response.error,
    media: (inner.parts ?? []).flatMap((part) => part.inlineData ?? []),
  };
}

function printed(text) {
  try {
    return JSON.parse(text).functionResponse;
  } catch {
    return undefined;
  }
}

/** Without what differs from run to run. */
function tidied(text, { root, workspace }) {
  return text.replaceAll(JSON.stringify(workspace).slice(1, -1), '<workspace>').replaceAll(root, '<run>');
}

/** The places where two values differ, each as `{place, ours, theirs}`; what is missing is `undefined`. */
export function differencesBetween(ours, theirs, place = '') {
  if (isTree(ours) && isTree(theirs) && Array.isArray(ours) === Array.isArray(theirs)) {
    const keys = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])];
    return keys.flatMap((key) => {
      const inner = Array.isArray(ours) ? `${place}[${key}]` : `${place}${place && '.'}${key}`;
      return differencesBetween(ours[key], theirs[key], inner);
    });
  }
  return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ place, ours, theirs }];
}

function isTree(value) {
  return value !== null && typeof value === 'object';
}
