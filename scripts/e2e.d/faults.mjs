// Owns the faults that a script can order: what each makes of an answer. Leaves the choice of the answer to player.mjs
// and the writing of bytes to wire.mjs.

import { apiError } from './errors.mjs';
import { documentsOf } from './contents.mjs';
import { Verbatim } from './wire.mjs';

const MIB = 1024 * 1024;
const NOWHERE = '/elsewhere';
const OVERLOADED = 'The model is overloaded. Please try again later.';

/**
 * Each takes the fault and the content it happens to, and gives a reply as wire.mjs sends it. `use` says what becomes of
 * the answer that the script has for the request: `none` does without, `look` shows it and leaves it for the repetition
 * of the request, `take` uses it up, because the answer still arrives.
 */
const FAULTS = {
  429: { use: 'none', reply: tooManyRequests },
  500: { use: 'none', reply: () => apiError(500, 'An internal error has occurred. Please retry.') },
  503: { use: 'none', reply: (fault) => apiError(503, OVERLOADED, [], waiting(fault)) },
  html: { use: 'none', reply: html },
  redirect: { use: 'none', reply: redirect },

  cut: { use: 'look', reply: (fault, content) => endingIn(content, fault.reset ? 'reset' : 'cut', placeOf(fault, content)) },
  half: { use: 'look', reply: (fault, content) => endingIn(content, 'half', placeOf(fault, content)) },
  silence: { use: 'look', reply: ({ afterChunks = 0 }, content) => endingIn(content, 'silence', afterChunks) },
  'no-headers': { use: 'none', reply: () => ({ ending: { how: 'nothing' } }) },
  'hang-up': { use: 'none', reply: () => ({ ending: { how: 'hang-up' } }) },

  'wrong-json': { use: 'look', reply: wrongJson },
  'error-in-stream': { use: 'look', reply: errorInStream },
  slow: { use: 'take', reply: ({ bytes = 16, everyMs = 20 }, content) => ({ ...content, pace: { bytes, everyMs } }) },
  sse: { use: 'take', reply: (fault, content) => ({ ...content, sse: fault }) },
  huge: { use: 'none', reply: huge },

  empty: { use: 'none', reply: empty },
  blocked: { use: 'none', reply: ({ reason }, _, context) => ({ documents: [{ ...blocked(reason), ...counted(context) }] }) },
  SAFETY: { use: 'none', reply: unsafe },
  MALFORMED_FUNCTION_CALL: { use: 'none', reply: malformed },
  MAX_TOKENS: { use: 'none', reply: stopped },
  RECITATION: { use: 'none', reply: stopped },
};

export const FAULT_NAMES = Object.keys(FAULTS);

export function useOfAnswer({ fault }) {
  return FAULTS[fault].use;
}

/** Whether a fault says itself what it happens to. */
export function ownContent(entry) {
  return ['chunks', 'parts', 'calls', 'text'].some((key) => key in entry);
}

/** The reply that a fault makes of `content`; `context` is that of the request. */
export function disturbed(fault, content = { documents: [] }, context) {
  return { ...FAULTS[fault.fault].reply(fault, content, context), fault: fault.fault };
}

/** At which piece of an answer a fault happens: the last one, unless it says after how many chunks. */
function placeOf({ afterChunks }, { documents }) {
  const last = Math.max((documents?.length ?? 1) - 1, 0);
  return Math.min(afterChunks ?? last, last);
}

function endingIn(content, how, at) {
  return { ...content, ending: { how, at } };
}

function tooManyRequests({ retryDelay, perDay, quotaId = perDay && PER_DAY, message, ...fault }, _, { model }) {
  const details = [];
  if (quotaId) {
    const quotaMetric = 'generativelanguage.googleapis.com/generate_content_free_tier_requests';
    const violation = { quotaMetric, quotaId, quotaDimensions: { location: 'global', model }, quotaValue: '100' };
    details.push({ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [violation] });
  }
  if (retryDelay) details.push({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay });
  return apiError(429, message ?? (quotaId ? EXCEEDED : EXHAUSTED), details, waiting(fault));
}

const PER_DAY = 'GenerateRequestsPerDayPerProjectPerModel-FreeTier';
const EXCEEDED = 'You exceeded your current quota, please check your plan and billing details.';
const EXHAUSTED = 'Resource has been exhausted (e.g. check quota).';

/** `retryAfter` is written as seconds, `retryAfterDate` as the date that lies so many seconds ahead. */
function waiting({ retryAfter, retryAfterDate }) {
  if (retryAfterDate !== undefined) return { 'retry-after': new Date(Date.now() + retryAfterDate * 1000).toUTCString() };
  return retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
}

/** Another origin by default: what the client sends there is recorded as well, with its headers. */
function redirect({ status = 302, location }, _, { origin }) {
  return { status, headers: { location: location ?? `${origin.replace('127.0.0.1', 'localhost')}${NOWHERE}` }, text: '' };
}

function html({ status = 502 }) {
  const lines = [
    '<!DOCTYPE html>',
    '<html lang=en>',
    `<title>Error ${status} (Server Error)!!1</title>`,
    `<p><b>${status}.</b> <ins>That’s an error.</ins>`,
    '<p>The server encountered a temporary error and could not complete your request.',
    '',
  ];
  return { status, headers: { 'content-type': 'text/html; charset=UTF-8' }, text: lines.join('\n') };
}

const UNFINISHED_JSON = '{"candidates":[{"content":{"role":"model","parts":[{"text":"half a';

function wrongJson({ json = UNFINISHED_JSON, ...fault }, content) {
  const documents = (content.documents ?? []).slice(0, placeOf(fault, content));
  return { ...content, body: undefined, documents: [...documents, new Verbatim(json)] };
}

/** `bare` puts the error between the events, as a document of its own. */
function errorInStream({ afterChunks = 1, status = 503, bare = false, ...fault }, content) {
  const documents = (content.documents ?? []).slice(0, afterChunks).map(unfinished);
  const { body } = apiError(status, fault.message ?? 'The service is currently unavailable.');
  const error = bare ? new Verbatim(JSON.stringify(body), { bare }) : body;
  return { ...content, body: undefined, documents: [...documents, error] };
}

function unfinished(document) {
  const { candidates = [] } = document;
  return { ...document, candidates: candidates.map(({ finishReason, ...candidate }) => candidate) };
}

function huge({ mib = 8 }, _, context) {
  return { documents: documentsOf([{ text: 'x'.repeat(mib * MIB) }], context) };
}

const RATINGS = [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'HIGH', blocked: true }];

function blocked(blockReason = 'SAFETY') {
  return { promptFeedback: { blockReason, safetyRatings: RATINGS } };
}

function unsafe(_, __, context) {
  return { documents: [{ ...ended('SAFETY', { safetyRatings: RATINGS }), ...blocked(), ...counted(context) }] };
}

function counted({ model }) {
  return { usageMetadata: { promptTokenCount: 1000, totalTokenCount: 1000 }, modelVersion: model, responseId: 'played' };
}

function ended(finishReason, more) {
  return { candidates: [{ index: 0, finishReason, ...more }] };
}

const EMPTY = {
  absent: {},
  list: { candidates: [] },
  candidate: ended('STOP'),
  content: ended('STOP', { content: {} }),
  role: ended('STOP', { content: { role: 'model' } }),
  parts: ended('STOP', { content: { role: 'model', parts: [] } }),
  text: ended('STOP', { content: { role: 'model', parts: [{ text: '' }] } }),
};

/** `what` names how empty. */
function empty({ what = 'list' }, _, context) {
  if (!EMPTY[what]) throw new Error(`empty: '${what}' is none of ${Object.keys(EMPTY).join(', ')}`);
  return { documents: [{ ...EMPTY[what], ...counted(context) }] };
}

/** The answer ends for the reason that the fault is named after, behind its own content or behind some words. */
function stopped({ fault }, content, context) {
  const own = content.documents.length > 0;
  const documents = own ? [...content.documents] : documentsOf([{ text: 'This answer ends before' }], context);
  const last = documents.pop();
  const candidate = { ...last.candidates?.[0], finishReason: fault };
  return { ...content, documents: [...documents, { ...last, candidates: [candidate] }] };
}

function malformed(fault, content, context) {
  if (content.documents.length > 0) return stopped(fault, content, context);
  const finishMessage = 'Malformed function call: print(default_api.read_file(absolute_path=';
  return { documents: [{ ...ended(fault.fault, { content: {}, finishMessage }), ...counted(context) }] };
}
