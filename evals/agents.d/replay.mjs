// Owns the claims about recordings of run_agent: a recorded run that is played says and does the same, and a tool that
// answers otherwise is named.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { PROMPT } from './hosts.mjs';
import { placeIn, SCENARIOS } from './scenarios.mjs';
import { endStrays, run } from '../../scripts/e2e.d/child.mjs';
import { startGeminiApi } from '../../scripts/e2e.d/gemini_api.mjs';
import { environment, RUN_LIMIT_MS } from '../../scripts/e2e.d/host.mjs';
import { filesOf, makePlayground, writeFile } from '../../scripts/e2e.d/playground.mjs';
import { API_KEY } from '../../scripts/e2e.d/ways_in.mjs';

const MODEL = 'gemini-2.5-pro';

const SHOWN = ['--no-session'];

/** The tool of a user, whose text can be changed. */
const SAY = ['.gemini/tools/say.sh', '#!/bin/sh\n# /// tool\n# description = "Says something."\n# ///\necho "as always"\n'];

/** The status that run_agent documents for a run that differs from its script. */
const DIFFERS = 4;

export async function checkReplays(report, base, { runAgent, pair, only }) {
  for (const scenario of SCENARIOS.filter(({ name }) => only.includes(name))) {
    report.about(`${scenario.name}:`);
    await report.claim('a_recorded_run_is_played_without_network_or_key', async () => {
      const root = path.join(base, `replay ${scenario.name}`.replaceAll(' ', '-'));
      const recorded = await record(runAgent, path.join(root, 'recorded'), pair, scenario);
      const replayed = await replay(runAgent, path.join(root, 'replayed'), pair, scenario, recorded.file);
      assert.equal(replayed.status, recorded.status, replayed.stderr);
      assert.equal(replayed.stdout, recorded.stdout);
      assert.deepEqual(replayed.files, recorded.files);
    });
  }
  report.about('a replay:');
  const calls = [{ id: 'a', tool: 'read_file', args: { absolute_path: 'one.txt' } }, { id: 'b', tool: 'say', args: {} }];
  const scenario = { files: { 'one.txt': 'first\n' }, script: () => ({ turns: [calls] }) };
  const root = path.join(base, 'replay-changed');
  let recorded;
  await report.claim('a_tool_of_the_user_is_recorded', async () => {
    recorded = await record(runAgent, path.join(root, 'recorded'), pair, scenario);
    assert.equal(recorded.status, 0, recorded.stderr);
    assert.match(fs.readFileSync(recorded.file, 'utf8'), /as always/);
  });
  const changes = [
    ['another_content_of_a_file_is_named_with_its_call', { 'one.txt': 'second\n' }, SAY[1], [/call 1, read_file \{"absolute_path":"one.txt"\}:/, /^-first$/m, /^\+second$/m]],
    ['another_text_of_a_tool_is_named_with_its_call', scenario.files, SAY[1].replace('as always', 'otherwise'), [/call 2, say \{\}:/, /^-as always$/m, /^\+otherwise$/m]],
  ];
  for (const [name, files, tool, said] of changes) {
    await report.claim(name, async () => {
      const replayed = await replay(runAgent, path.join(root, name), pair, { ...scenario, files }, recorded.file, tool);
      assert.equal(replayed.status, DIFFERS, replayed.stderr);
      for (const pattern of said) assert.match(replayed.stderr, pattern);
    });
  }
}

async function record(runAgent, root, pair, scenario) {
  const playground = await place(root, pair, scenario, SAY[1]);
  const file = path.join(root, 'run.yaml');
  const named = (tool) => tool;
  const api = await startGeminiApi(scenario.script({ at: placeIn(playground.workspace), named }));
  try {
    const args = ['-m', MODEL, '-p', PROMPT, '--record', file, ...SHOWN, ...approval(scenario)];
    return { file, ...(await start(runAgent, playground, args, API_KEY.variables(api.url))) };
  } finally {
    await api.close();
  }
}

async function replay(runAgent, root, pair, scenario, file, tool = SAY[1]) {
  const playground = await place(root, pair, scenario, tool);
  const args = ['--model-script', file, ...SHOWN, ...approval(scenario)];
  return start(runAgent, playground, args, {});
}

async function place(root, pair, scenario, tool) {
  fs.mkdirSync(root, { recursive: true });
  const commands = scenario.pair ? scenario.pair(root) : {};
  const playground = await makePlayground(root, { files: scenario.files, ...commands });
  writeFile(path.join(playground.home, SAY[0]), tool, 0o755);
  return playground;
}

function approval({ unapproved }) {
  return unapproved ? [] : ['-y'];
}

async function start(runAgent, playground, args, variables) {
  const env = environment(playground, variables);
  const session = await run(runAgent, args, { cwd: playground.workspace, env, limitMs: RUN_LIMIT_MS });
  endStrays(playground.root);
  const files = Object.entries(filesOf(playground.workspace));
  return {
    status: session.status,
    stderr: session.stderr,
    stdout: session.stdout,
    files: Object.fromEntries(files.filter(([name]) => !name.startsWith('.gemini')).map(([name, bytes]) => [name, bytes.toString('base64')])),
  };
}
