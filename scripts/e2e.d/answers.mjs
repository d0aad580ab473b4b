// Owns the reading of what came back to the model: our JSON inside the host's functionResponse.

import assert from 'node:assert/strict';

import { DISCOVERED } from './records.mjs';

/** The text of a successful call; throws where the answer isn't exactly our document, passed on verbatim. */
export function outputOf(answers, id) {
  const { call, functionResponse } = answerTo(answers, id);
  const { output, ...others } = functionResponse.response;
  assert.equal(typeof output, 'string', `the host answered ${excerpt(functionResponse.response)}`);
  assert.deepEqual(Object.keys(others), [], 'the host added keys to the response');
  return textOf(document(output), call.tool);
}

/** `{error, errorType}` of a failed call, found in the text that the host makes of it. */
export function failureOf(answers, id) {
  const { call, functionResponse } = answerTo(answers, id);
  const text = functionResponse.response.error;
  assert.equal(typeof text, 'string', `the host answered ${excerpt(functionResponse.response)}`);
  const [, stdout, stderr, status] =
    /^Stdout: ([^]*)\nStderr: ([^]*)\nError: \(none\)\nExit Code: (\d+)\nSignal: \(none\)$/.exec(text.trimEnd()) ?? [];
  assert.ok(stdout, `the host's text has another form: ${excerpt(text)}`);
  assert.equal(stderr, '(empty)', 'something was written to stderr');
  const part = document(stdout).functionResponse;
  assert.equal(part?.name, call.tool);
  return { ...part.response, status: Number(status) };
}

/** The answer exactly as the host passed it on. */
export function rawAnswer(answers, id) {
  const { response } = answerTo(answers, id).functionResponse;
  return response.output ?? response.error ?? '';
}

function answerTo(answers, id) {
  const answer = answers.get(id);
  assert.ok(answer, `no answer to the call '${id}' reached the model`);
  const { name } = answer.functionResponse;
  assert.ok([answer.call.tool, DISCOVERED + answer.call.tool].includes(name), `'${name}' was answered instead of '${answer.call.tool}'`);
  return answer;
}

function document(stdout) {
  assert.match(stdout, /^[^\n]*\n$/, `not one line of JSON: ${excerpt(stdout)}`);
  try {
    return JSON.parse(stdout);
  } catch (error) {
    throw new Error(`not JSON (${error.message}): ${excerpt(stdout)}`);
  }
}

function textOf(value, tool) {
  assert.deepEqual(Object.keys(value), ['functionResponse']);
  const { name, response } = value.functionResponse;
  assert.equal(name, tool);
  assert.equal(typeof response.output, 'string', `no output: ${excerpt(response)}`);
  return response.output;
}

function excerpt(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
