// Owns the recording of what the real Gemini CLI sends: plays one script over every way in to the API, with the model
// calling google_web_search and web_fetch, and writes the shape of all requests to a file, or compares them with it.
// Leaves the shortening of requests to shapes.mjs.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { ending, endStrays, inOwnDirectory } from './child.mjs';
import { startGeminiApi } from './gemini_api.mjs';
import { install, runHost } from './host.mjs';
import { makePlayground } from './playground.mjs';
import { requestIn } from './records.mjs';
import { Report } from './report.mjs';
import { shapeOf } from './shapes.mjs';
import { WAYS_IN } from './ways_in.mjs';

const USAGE = `Usage: node scripts/e2e.d/requests.mjs [--cli VERSION] [--record FILE | --check FILE] [--keep]

Runs Gemini CLI, headless, over every way in to a stand-in of its API, and shows
the shape of the requests that it sends.

  --cli VERSION  a version of @google/gemini-cli (default: 0.8.2)
  --record FILE  writes the shapes to a file
  --check FILE   fails where they are others than those of a file
  --keep         leaves the directories of the runs, with all requests as sent
`;

const PROMPT = 'Look it up.';
const QUERY = 'weather in Berlin';
// An address in place of a name: 0.61 looks a name up before it asks the API, and here none is found.
const ADDRESS = 'https://1.1.1.1/page';
const FETCH = `Summarize ${ADDRESS}`;
const SCRIPT = {
  turns: [
    [
      { id: 'search', tool: 'google_web_search', args: { query: QUERY } },
      { id: 'fetch', tool: 'web_fetch', args: { prompt: FETCH } },
    ],
  ],
  closing: 'Done.',
};

const report = new Report();
let base;

function readOptions() {
  const options = {
    cli: { type: 'string', default: '0.8.2' },
    record: { type: 'string' },
    check: { type: 'string' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  };
  try {
    const { values } = parseArgs({ options });
    if (!values.help) return values;
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
  process.stdout.write(USAGE);
  process.exit(0);
}

/** The requests of one session, with the settings and variables of one way in. */
async function requestsOf(host, way) {
  const root = path.join(base, way.name);
  fs.mkdirSync(root, { recursive: true });
  const playground = await makePlayground(root, { files: {}, way });
  const api = await startGeminiApi(SCRIPT);
  let session;
  try {
    session = await runHost(host, playground, api.url, PROMPT, ['--approval-mode', 'yolo'], way);
  } finally {
    await api.close();
  }
  endStrays(root);
  fs.writeFileSync(path.join(root, 'requests.json'), JSON.stringify(api.recorded, null, 1));
  // Not by kind: over Code Assist, 0.61.0 sends the query without the tool.
  const questions = api.recorded.map(questionOf);
  const complete = await report.claim(`${way.name}_sends_the_prompt_the_query_and_the_address`, () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    const missing = [PROMPT, QUERY, ADDRESS].filter((text) => !questions.some((question) => question?.includes(text)));
    assert.equal(missing.join(', '), '', 'some were not sent');
  });
  if (!complete) {
    report.quote('its standard output', session.stdout);
    report.quote('its standard error', session.stderr);
  }
  return api.recorded;
}

function questionOf({ transport, body }) {
  return requestIn(transport, body).contents?.at(-1)?.parts?.at(-1)?.text;
}

/** By kind, the shapes of the requests in the order in which they came. */
function shapesOf(recorded) {
  const shapes = {};
  for (const entry of recorded) {
    // What a library asks of the machine is not the API's business.
    if (entry.transport) (shapes[entry.kind] ??= []).push(shapeOf(entry, base));
  }
  // Which of two tools comes first is chance, for they run at the same time.
  return Object.fromEntries(Object.entries(shapes).sort(([one], [other]) => (one < other ? -1 : 1)));
}

async function main(options) {
  const host = await install(options.cli);
  report.about(`${host.version}:`);
  const ways = {};
  for (const way of WAYS_IN) ways[way.name] = shapesOf(await requestsOf(host, way));
  const text = `${JSON.stringify({ cli: host.version, prompt: PROMPT, query: QUERY, fetch: FETCH, ways }, null, 1)}\n`;
  await report.claim('no_path_of_this_machine_is_left', () => {
    assert.deepEqual([base, os.homedir(), process.cwd()].filter((place) => place.length > 1 && text.includes(place)), []);
  });
  if (options.record) {
    if (report.failed > 0) return;
    fs.mkdirSync(path.dirname(path.resolve(options.record)), { recursive: true });
    fs.writeFileSync(options.record, text);
  } else if (options.check) {
    await report.claim('requests_are_those_of_the_file', () => {
      assert.deepEqual(JSON.parse(text), JSON.parse(fs.readFileSync(options.check, 'utf8')));
    });
  } else {
    process.stdout.write(text);
  }
}

const options = readOptions();
await inOwnDirectory('gemini-tools-requests-', options.keep, (directory) => {
  base = directory;
  return main(options);
});
process.exitCode = report.failed > 0 ? 1 : 0;
