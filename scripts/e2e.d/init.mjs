// Owns the claims about `get_tools init`: what a person gets who types it in a new project and starts the host.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { answersTo, conversation, declarationsOf, declaredName, DISCOVERED } from './records.mjs';
import { outputOf } from './answers.mjs';
import { ending, run } from './child.mjs';
import { filesOf } from './playground.mjs';

const LIMIT_MS = 30_000;

const FILES = { 'short.txt': 'one line\n' };

function script(workspace) {
  return {
    closing: 'Done.',
    turns: [[{ id: 'short', tool: 'read_file', args: { absolute_path: path.join(workspace, 'short.txt') } }]],
  };
}

/** A session in a folder that nobody has trusted, without rules or commands but for what `init` writes. */
export async function checkInit(report, play, { getTools, hasPolicies }) {
  const init = (playground, args) =>
    run(getTools, ['init', '--yes', ...args], {
      cwd: playground.workspace,
      env: { PATH: process.env.PATH, HOME: playground.home },
      limitMs: LIMIT_MS,
    });
  let written;
  const { playground, recorded, session } = await play({
    name: 'set_up',
    files: FILES,
    script,
    settings: { getTools: undefined, callTool: undefined, trusted: false },
    prepare: async (place) => {
      fs.rmSync(path.join(place.workspace, '.gemini'), { recursive: true });
      written = await init(place, ['--trust']);
    },
  });
  const model = path.join(playground.home, '.gemini');
  await report.claim('init_lets_the_host_call_a_tool_that_reads', () => {
    assert.equal(written.status, 0, written.stdout + written.stderr);
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(outputOf(answersTo(script(playground.workspace), recorded), 'short').includes('one line'));
  });
  await report.claim('init_lets_the_model_see_no_tool_that_writes_where_rules_decide', () => {
    const declared = declarationsOf(conversation(recorded)[0].body);
    assert.ok(declared.has(declaredName(declared, 'read_file')));
    if (hasPolicies) assert.ok(!declared.has(`${DISCOVERED}write_file`));
  });
  await report.claim('init_is_taken_back_by_undo', async () => {
    const undone = await init(playground, ['--undo']);
    assert.equal(undone.status, 0, undone.stdout + undone.stderr);
    assert.deepEqual(Object.keys(filesOf(playground.workspace)), Object.keys(FILES));
    assert.ok(!fs.existsSync(path.join(model, 'policies')));
  });
}
