// Owns the content of answers: response documents made of a script's turns and entries, and sensible ones for requests
// that no script speaks of. Leaves the choice to player.mjs and the wire to wire.mjs.

import { apiError } from './errors.mjs';
import { callsIn, declarationsOf, declaredName, responsesIn } from './records.mjs';

const CLOSING = 'Done.';
const ENDING_KEYS = ['finishReason', 'finishMessage', 'safetyRatings'];
const CANDIDATE_KEYS = [...ENDING_KEYS, 'groundingMetadata', 'urlContextMetadata', 'citationMetadata'];

/**
 * `{documents}`, or `{status, body, headers}`, of an entry of a script. An entry says what it answers by one of: `chunks`
 * (whole documents), `parts`, `calls` (as in a turn), `text`, or `body` with `status` and `headers`. The keys of a
 * candidate, such as `groundingMetadata`, go to the last document.
 */
export function contentOf(entry, context) {
  const { sse, headers } = entry;
  if (entry.chunks) return { documents: entry.chunks, sse, headers };
  if ('body' in entry || entry.status) {
    const { status = 200, body } = entry;
    if (body === undefined && status >= 400) return apiError(status, `Played error ${status}.`, [], headers);
    return { status, body, headers };
  }
  const documents = documentsOf(partsOf(entry, context), context);
  const last = documents.at(-1);
  for (const key of CANDIDATE_KEYS) if (key in entry) last.candidates[0][key] = entry[key];
  if (entry.usageMetadata) last.usageMetadata = entry.usageMetadata;
  return { documents, sse, headers };
}

function partsOf({ parts, calls, text = CLOSING }, context) {
  return parts ?? (calls ? callParts(calls, turnOf(context), context) : [{ text }]);
}

/** One document for each part, the last of them with the reason to end. */
export function documentsOf(parts, { model }, finishReason = 'STOP') {
  const last = parts.length - 1;
  return parts.map((part, index) => documentOf([part], model, index === last ? finishReason : undefined));
}

function documentOf(parts, model, finishReason) {
  const candidate = { index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) };
  return {
    candidates: [candidate],
    usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 10, totalTokenCount: 1010 },
    modelVersion: model,
    responseId: 'played',
  };
}

/** What is answered to the conversation by a script's `turns` and `closing`. */
export function turnAnswer({ turns = [], closing = CLOSING }, context) {
  const turn = turnOf(context);
  const calls = turns[turn];
  if (!calls) return { documents: documentsOf([{ text: closing }], context) };
  return { documents: documentsOf([{ text: `Turn ${turn + 1}.` }, ...callParts(calls, turn, context)], context) };
}

/** The turn follows from the history, not from a counter, so that a request which the host repeats gets the same answer. */
function turnOf({ request }) {
  return (request.contents ?? []).filter((content) => callsIn(content).length > 0).length;
}

function callParts(calls, turn, { request }) {
  const declared = declarationsOf(request);
  const responses = (request.contents ?? []).flatMap(responsesIn);
  return calls.map(({ id, tool, args = {}, hostArgs = {} }, position) => {
    const name = declaredName(declared, tool);
    const properties = declared.get(name)?.schema.properties ?? {};
    const extra = Object.fromEntries(Object.entries(hostArgs).filter(([key]) => key in properties));
    const own = typeof args === 'function' ? args(responses) : args;
    const part = { functionCall: { id, name, args: { ...own, ...extra } } };
    // Models since Gemini 3 sign a turn's first call.
    if (position === 0) part.thoughtSignature = Buffer.from(`signature of turn ${turn}`).toString('base64');
    return part;
  });
}

/** An answer to a question besides the conversation: some value of the JSON that it asks for, or a few words. */
export function sideAnswer(context) {
  const config = context.request.generationConfig ?? {};
  const schema = config.responseJsonSchema ?? config.responseSchema;
  const wanted = schema ?? (config.responseMimeType === 'application/json' ? { type: 'object' } : undefined);
  return { documents: documentsOf([{ text: wanted ? JSON.stringify(sampleOf(wanted)) : 'Nothing to add.' }], context) };
}

/** Some value that fits a JSON schema. Where a side question asks who speaks next, it is the user, so that a run ends. */
function sampleOf(schema) {
  if (schema.enum) return schema.enum.includes('user') ? 'user' : schema.enum[0];
  if (schema.anyOf) return sampleOf(schema.anyOf[0]);
  switch (String(schema.type).toLowerCase()) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([key, value]) => [key, sampleOf(value)]));
    case 'array':
      return [];
    case 'number':
    case 'integer':
      return schema.minimum ?? 1; // a classifier's scores begin at 1, and its schema doesn't say so
    case 'boolean':
      return false;
    default:
      return 'nothing';
  }
}

/** A grounded answer to a question with `googleSearch`. Its text is not all ASCII, for positions count bytes. */
export function defaultSearch(context) {
  const query = questionIn(context);
  const sentences = [`Résumé of “${query}”.`, 'A second finding.'];
  const text = sentences.join(' ');
  const groundingMetadata = {
    webSearchQueries: [query],
    groundingChunks: [source('https://one.example/found', 'one.example'), source('https://two.example/found', 'two.example')],
    groundingSupports: [support(text, sentences[0], [0]), support(text, sentences[1], [0, 1])],
  };
  return contentOf({ text, groundingMetadata }, context);
}

/** An answer to a question with `urlContext`: every address in it has been read. */
export function defaultFetch(context) {
  const found = questionIn(context).match(/https?:\/\/[^\s"'<>)]+/g) ?? [];
  const addresses = found.filter((address) => URL.canParse(address));
  const text = `Played content of ${addresses.join(' and ') || 'nothing'}.`;
  const groundingMetadata = {
    groundingChunks: addresses.map((address) => source(address, new URL(address).hostname)),
    groundingSupports: addresses.length > 0 ? [support(text, text, addresses.map((_, index) => index))] : [],
  };
  const urlMetadata = addresses.map((retrievedUrl) => ({ retrievedUrl, urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' }));
  return contentOf({ text, groundingMetadata, urlContextMetadata: { urlMetadata } }, context);
}

function source(uri, title) {
  return { web: { uri, title } };
}

function support(whole, part, groundingChunkIndices) {
  const startIndex = Buffer.byteLength(whole.slice(0, whole.indexOf(part)));
  return { segment: { startIndex, endIndex: startIndex + Buffer.byteLength(part), text: part }, groundingChunkIndices };
}

function questionIn({ request }) {
  const last = (request.contents ?? []).at(-1);
  return (last?.parts ?? []).map((part) => part.text ?? '').join(' ');
}

const TIER = { id: 'free-tier', name: 'Gemini Code Assist for individuals', description: 'Played tier' };
const PROJECT = 'stand-in-project';

/** What Code Assist has besides the model; the CLI works with empty answers to all but the first two. */
const CODE_ASSIST_ANSWERS = {
  loadCodeAssist: { currentTier: TIER, allowedTiers: [{ ...TIER, isDefault: true }], cloudaicompanionProject: PROJECT },
  onboardUser: { name: 'operations/played', done: true, response: { cloudaicompanionProject: { id: PROJECT, name: PROJECT } } },
  getCodeAssistGlobalUserSetting: { cloudaicompanionProject: PROJECT, freeTierDataCollectionOptin: false },
  setCodeAssistGlobalUserSetting: { cloudaicompanionProject: PROJECT, freeTierDataCollectionOptin: false },
  listExperiments: { experimentIds: [], flags: [] },
  retrieveUserQuota: { buckets: [] },
  recordCodeAssistMetrics: {},
  fetchAdminControls: {},
};

export function codeAssistAnswer({ method }) {
  const body = CODE_ASSIST_ANSWERS[method];
  return body && { body };
}
