// Owns the claims about the stand-in itself, checked without any client but node's own. Run by: node --test.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { after, before, beforeEach, test } from 'node:test';

import { FAULT_NAMES } from './faults.mjs';
import { startGeminiApi } from './gemini_api.mjs';

const KEY = { 'x-goog-api-key': 'stand-in' };
const TOKEN = { authorization: 'Bearer stand-in' };
const CONTENTS = [{ role: 'user', parts: [{ text: 'Question' }] }];
const TOOLS = [{ functionDeclarations: [{ name: 'read_file', parametersJsonSchema: { type: 'object' } }] }];
const TURN = { contents: CONTENTS, tools: TOOLS };
const STREAM = '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse';
const WHOLE = '/v1beta/models/gemini-2.5-pro:generateContent';

let api;
before(async () => {
  api = await startGeminiApi({}, { controls: true });
});
beforeEach(() => api.play({}));
after(() => api.close());

/** Sends a request; never rejects. `error` says how the answer broke off. */
function ask(path, { body = TURN, headers = KEY, verb = 'POST', limitMs = 400 } = {}) {
  return new Promise((resolve) => {
    const answer = { status: null, headers: {}, bytes: Buffer.alloc(0), error: null };
    const finish = (error) => resolve(Object.assign(answer, { error: error ?? null, text: answer.bytes.toString('utf8') }));
    const request = http.request(api.url + path, { method: verb, headers: { 'content-type': 'application/json', ...headers } }, (response) => {
      Object.assign(answer, { status: response.statusCode, headers: response.headers });
      response.on('data', (bytes) => (answer.bytes = Buffer.concat([answer.bytes, bytes])));
      response.on('end', () => finish()).on('error', (error) => finish(error.code));
    });
    request.on('error', (error) => finish(error.code));
    request.setTimeout(limitMs, () => {
      finish('silence');
      request.destroy();
    });
    request.end(verb === 'GET' ? undefined : JSON.stringify(body));
  });
}

const json = ({ text }) => JSON.parse(text);
const chunks = ({ text }) => text.split('\r\n\r\n').filter(Boolean).map((event) => JSON.parse(event.replace(/^data: /, '')));
const textIn = (documents) => documents.flatMap((document) => document.candidates[0].content.parts).map((part) => part.text ?? '').join('');

const ENVELOPE = { model: 'gemini-2.5-pro', project: 'p', user_prompt_id: 'u', request: TURN };
const WAYS_IN = [
  { transport: 'api-key', path: STREAM, headers: KEY, body: TURN },
  { transport: 'vertex', path: '/v1beta1/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse', headers: KEY, body: TURN },
  { transport: 'vertex', path: '/v1beta1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse', headers: TOKEN, body: TURN },
  { transport: 'code-assist', path: '/v1internal:streamGenerateContent?alt=sse', headers: TOKEN, body: ENVELOPE },
];

test('the_same_script_is_played_over_every_way_in', async () => {
  for (const { transport, path, headers, body } of WAYS_IN) {
    api.play({ turns: [[{ id: 'a', tool: 'read_file', args: { path: 'x' } }]] });
    const documents = chunks(await ask(path, { headers, body })).map((document) => (transport === 'code-assist' ? document.response : document));
    assert.deepEqual(documents[1].candidates[0].content.parts[0].functionCall, { id: 'a', name: 'read_file', args: { path: 'x' } });
    const [entry] = api.recorded;
    assert.deepEqual([entry.transport, entry.kind, entry.path, entry.model, entry.verb], [transport, 'turn', path, 'gemini-2.5-pro', 'POST']);
    assert.deepEqual(entry.body, body);
  }
});

test('code_assist_knows_the_user', async () => {
  const loaded = json(await ask('/v1internal:loadCodeAssist', { headers: TOKEN, body: {} }));
  assert.equal(loaded.currentTier.id, 'free-tier');
  assert.equal(loaded.cloudaicompanionProject, 'stand-in-project');
  assert.equal(json(await ask('/v1internal:onboardUser', { headers: TOKEN, body: {} })).done, true);
  assert.ok(json(await ask('/v1internal:countTokens', { headers: TOKEN, body: { request: { model: 'models/m', contents: CONTENTS } } })).totalTokens > 0);
  assert.equal((await ask('/v1internal:nothing', { headers: TOKEN })).status, 404);
});

test('credentials_are_refused_as_the_api_does', async () => {
  const [, vertexKey, vertexToken, assist] = WAYS_IN;
  const cases = [
    [STREAM, {}, 403, 'PERMISSION_DENIED'],
    [STREAM, { 'x-goog-api-key': 'wrong' }, 400, 'INVALID_ARGUMENT', 'API_KEY_INVALID'],
    [STREAM, { authorization: 'Bearer expired' }, 401, 'UNAUTHENTICATED', 'ACCESS_TOKEN_EXPIRED'],
    [vertexKey.path, {}, 403, 'PERMISSION_DENIED'],
    [vertexToken.path, KEY, 401, 'UNAUTHENTICATED', 'CREDENTIALS_MISSING'],
    [assist.path, {}, 401, 'UNAUTHENTICATED', 'CREDENTIALS_MISSING'],
    [assist.path, { authorization: 'Bearer expired' }, 401, 'UNAUTHENTICATED', 'ACCESS_TOKEN_EXPIRED'],
  ];
  for (const [path, headers, status, name, reason] of cases) {
    const answer = await ask(path, { headers });
    assert.equal(answer.status, status, path);
    assert.equal(json(answer).error.status, name);
    assert.equal(json(answer).error.details?.[0].reason, reason);
  }
});

test('answers_are_used_in_order_or_by_what_they_match', async () => {
  api.play({
    answers: [{ text: 'for flash', match: { model: 'flash' } }, { text: 'first' }, { parts: [{ text: 'second' }], times: 2 }, { status: 418, body: { odd: true }, headers: { 'x-odd': '1' } }],
    closing: 'closing',
  });
  const seen = [];
  for (let turn = 0; turn < 3; turn += 1) seen.push(textIn(chunks(await ask(STREAM))));
  assert.deepEqual(seen, ['first', 'second', 'second']);
  const odd = await ask(STREAM);
  assert.deepEqual([odd.status, odd.headers['x-odd'], odd.text], [418, '1', '{"odd":true}']);
  assert.equal(textIn(chunks(await ask(STREAM))), 'closing');
  assert.equal(textIn(chunks(await ask(STREAM.replace('gemini-2.5-pro', 'flash')))), 'for flash');
});

test('searches_and_fetches_are_grounded', async () => {
  const search = json(await ask(WHOLE, { body: { contents: CONTENTS, tools: [{ googleSearch: {} }] } })).candidates[0];
  const text = Buffer.from(search.content.parts[0].text);
  for (const { segment } of search.groundingMetadata.groundingSupports) {
    assert.equal(text.subarray(segment.startIndex, segment.endIndex).toString(), segment.text);
  }
  const contents = [{ role: 'user', parts: [{ text: 'Read https://example.com/a, please' }] }];
  const fetched = json(await ask(WHOLE, { body: { contents, tools: [{ urlContext: {} }] } })).candidates[0];
  assert.equal(fetched.urlContextMetadata.urlMetadata[0].urlRetrievalStatus, 'URL_RETRIEVAL_STATUS_SUCCESS');

  api.play({ search: { text: 'mine', groundingMetadata: { webSearchQueries: ['q'] } }, fetch: [{ text: 'once' }] });
  for (let time = 0; time < 2; time += 1) {
    const own = json(await ask(WHOLE, { body: { contents: CONTENTS, tools: [{ googleSearch: {} }] } })).candidates[0];
    assert.deepEqual([own.content.parts[0].text, own.groundingMetadata], ['mine', { webSearchQueries: ['q'] }]);
  }
});

/** By name: the fault and what has to be true of the answer. */
const FAULTS = {
  '429 plain': [{ fault: '429' }, (a) => assert.deepEqual([a.status, a.headers['retry-after'], json(a).error.details], [429, undefined, undefined])],
  '429 seconds': [{ fault: '429', retryAfter: 2 }, (a) => assert.equal(a.headers['retry-after'], '2')],
  '429 date': [{ fault: '429', retryAfterDate: 9 }, (a) => assert.ok(Date.parse(a.headers['retry-after']) > Date.now() + 5000)],
  '429 info': [{ fault: '429', retryDelay: '0.2s' }, (a) => assert.equal(json(a).error.details[0].retryDelay, '0.2s')],
  '429 day': [{ fault: '429', perDay: true }, (a) => assert.match(json(a).error.details[0].violations[0].quotaId, /PerDay/)],
  500: [{ fault: '500' }, (a) => assert.equal(json(a).error.status, 'INTERNAL')],
  503: [{ fault: '503' }, (a) => assert.equal(json(a).error.status, 'UNAVAILABLE')],
  'html 200': [{ fault: 'html', status: 200 }, (a) => assert.match(`${a.status} ${a.headers['content-type']} ${a.text}`, /^200 text\/html.*<!DOCTYPE/)],
  'html 502': [{ fault: 'html' }, (a) => assert.equal(a.status, 502)],
  redirect: [{ fault: 'redirect', status: 307 }, (a) => assert.match(`${a.status} ${a.headers.location}`, /^307 http:\/\/localhost:\d+\/elsewhere$/)],
  cut: [{ fault: 'cut' }, (a) => assert.ok(a.error === 'ECONNRESET' && a.text.includes('Turn 1.') && !a.text.includes('STOP'))],
  'cut reset': [{ fault: 'cut', reset: true, afterChunks: 0 }, (a) => assert.equal(a.error, 'ECONNRESET')],
  half: [{ fault: 'half' }, (a) => assert.ok(a.error === null && a.text.includes('Turn 1.') && !a.text.endsWith('\n'))],
  silence: [{ fault: 'silence' }, (a) => assert.deepEqual([a.error, a.status, a.text], ['silence', 200, ''])],
  'silence later': [{ fault: 'silence', afterChunks: 1 }, (a) => assert.ok(a.error === 'silence' && a.text.includes('Turn 1.'))],
  'no-headers': [{ fault: 'no-headers' }, (a) => assert.deepEqual([a.error, a.status], ['silence', null])],
  'hang-up': [{ fault: 'hang-up' }, (a) => assert.deepEqual([a.error, a.status], ['ECONNRESET', null])],
  'wrong-json': [{ fault: 'wrong-json' }, (a) => assert.throws(() => chunks(a))],
  'error-in-stream': [{ fault: 'error-in-stream' }, (a) => assert.equal(chunks(a)[1].error.code, 503)],
  'error-in-stream bare': [{ fault: 'error-in-stream', bare: true }, (a) => assert.match(a.text, /\r\n\{"error":\{[^\n]*\r\n$/)],
  slow: [{ fault: 'slow', bytes: 100, everyMs: 5 }, (a) => assert.equal(chunks(a).length, 2)],
  huge: [{ fault: 'huge', mib: 1 }, (a) => assert.equal(textIn(chunks(a)).length, 1024 * 1024)],
  'sse lf': [{ fault: 'sse', eol: 'lf' }, (a) => assert.ok(!a.text.includes('\r') && a.text.split('\n\n').length === 3)],
  'sse cr': [{ fault: 'sse', eol: 'cr' }, (a) => assert.ok(!a.text.includes('\n') && a.text.split('\r\r').length === 3)],
  'sse comments': [{ fault: 'sse', comments: true }, (a) => assert.match(a.text, /^: /)],
  'sse split': [{ fault: 'sse', split: true }, (a) => assert.ok(JSON.parse(a.text.split('\r\n\r\n')[0].replaceAll(/^data: /gm, '')).candidates)],
  'sse bom': [{ fault: 'sse', bom: true }, (a) => assert.deepEqual([...a.bytes.subarray(0, 4)], [0xef, 0xbb, 0xbf, 0x64])],
  empty: [{ fault: 'empty' }, (a) => assert.deepEqual(chunks(a)[0].candidates, [])],
  blocked: [{ fault: 'blocked' }, (a) => assert.equal(chunks(a)[0].promptFeedback.blockReason, 'SAFETY')],
  SAFETY: [{ fault: 'SAFETY' }, (a) => assert.deepEqual([chunks(a)[0].candidates[0].finishReason, chunks(a)[0].promptFeedback.blockReason], ['SAFETY', 'SAFETY'])],
  malformed: [{ fault: 'MALFORMED_FUNCTION_CALL' }, (a) => assert.equal(chunks(a)[0].candidates[0].finishReason, 'MALFORMED_FUNCTION_CALL')],
  'max tokens': [{ fault: 'MAX_TOKENS', text: 'half a sent' }, (a) => assert.deepEqual([textIn(chunks(a)), chunks(a)[0].candidates[0].finishReason], ['half a sent', 'MAX_TOKENS'])],
  recitation: [{ fault: 'RECITATION' }, (a) => assert.equal(chunks(a)[0].candidates[0].finishReason, 'RECITATION')],
};

for (const [name, [fault, check]] of Object.entries(FAULTS)) {
  test(`fault_${name.replaceAll(' ', '_')}_happens_as_often_as_asked`, async () => {
    const turns = [[{ id: 'a', tool: 'read_file', args: {} }]];
    api.play({ turns, faults: [{ ...fault, times: 2 }] });
    for (let time = 0; time < 2; time += 1) check(await ask(STREAM));
    assert.equal(chunks(await ask(STREAM)).length, 2);
    assert.deepEqual(api.recorded.map((entry) => entry.fault), [fault.fault, fault.fault, null]);
  });
}

test('a_fault_leaves_the_answer_for_the_repetition', async () => {
  api.play({ answers: [{ fault: 'cut' }, { text: 'kept' }, { fault: 'sse', eol: 'lf' }, { text: 'used up' }], closing: 'closing' });
  assert.equal((await ask(STREAM)).error, 'ECONNRESET');
  assert.equal(textIn(chunks(await ask(STREAM))), 'kept');
  assert.match((await ask(STREAM)).text, /used up/);
  assert.equal(textIn(chunks(await ask(STREAM))), 'closing');
});

test('faults_break_answers_that_are_no_stream', async () => {
  api.play({ answers: [{ fault: 'cut' }, { fault: 'half' }, { fault: 'wrong-json' }, { fault: 'error-in-stream' }] });
  assert.equal((await ask(WHOLE)).error, 'ECONNRESET');
  for (let time = 0; time < 2; time += 1) {
    const broken = await ask(WHOLE);
    assert.equal(broken.error, null);
    assert.throws(() => json(broken));
  }
  assert.equal(json(await ask(WHOLE)).error.code, 503);
});

test('a_script_can_be_replaced_over_http', async () => {
  assert.equal((await ask('/_script', { verb: 'PUT', body: { closing: 'replaced' } })).status, 200);
  assert.equal(textIn(chunks(await ask(STREAM))), 'replaced');
  const requests = json(await ask('/_requests', { verb: 'GET' }));
  assert.deepEqual(requests.map((entry) => [entry.kind, entry.headers['x-goog-api-key']]), [['turn', 'stand-in']]);
  const refused = await ask('/_script', { verb: 'PUT', body: { faults: [{ fault: 'flood' }] } });
  assert.deepEqual([refused.status, /'flood' is none of/.test(refused.text)], [400, true]);
});

test('the_scripts_of_the_documentation_are_scripts', () => {
  const text = fs.readFileSync(new URL('STAND_IN.md', import.meta.url), 'utf8');
  const scripts = [...text.matchAll(/^```json\n([^]*?)^```$/gm)];
  assert.ok(scripts.length > 0);
  for (const [, script] of scripts) api.play(JSON.parse(script));
});

test('the_documentation_and_the_help_name_every_fault', () => {
  const places = ['STAND_IN.md', 'stand_in.mjs'].map((name) => fs.readFileSync(new URL(name, import.meta.url), 'utf8'));
  for (const text of places) assert.deepEqual(FAULT_NAMES.filter((name) => !text.includes(name)), []);
  const played = new Set(Object.values(FAULTS).map(([{ fault }]) => fault));
  assert.deepEqual(FAULT_NAMES.filter((name) => !played.has(name)), []);
});

test('records_tell_when_a_request_was_whole_and_keep_no_bodies_if_told_so', async () => {
  const frugal = await startGeminiApi({}, { bodies: false });
  try {
    const answer = await fetch(frugal.url + WHOLE, { method: 'POST', headers: KEY, body: JSON.stringify(TURN) });
    assert.equal(textIn([await answer.json()]), 'Done.');
    const [{ at, receivedAt, answeredAt, body, kind }] = frugal.recorded;
    assert.deepEqual([at <= receivedAt, receivedAt <= answeredAt, body, kind], [true, true, null, 'turn']);
  } finally {
    await frugal.close();
  }
});
