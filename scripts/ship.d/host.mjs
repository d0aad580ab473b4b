// Owns the claims about the real Gemini CLI with what npm has installed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { outputOf } from '../e2e.d/answers.mjs';
import { ending } from '../e2e.d/child.mjs';
import { install } from '../e2e.d/host.mjs';
import { answersTo } from '../e2e.d/records.mjs';
import { sessionPlayer } from '../e2e.d/session.mjs';
import { npmRoom } from './npm.mjs';
import { addToPath, ok } from './room.mjs';

export const VERSION = '0.61.0';

const FILES = { 'short.txt': 'one line\n' };

/** A script in which the model reads a file by a tool of this name. */
export function reads(tool) {
  return (workspace) => ({
    closing: 'Done.',
    turns: [[{ id: 'short', tool, args: { absolute_path: path.join(workspace, 'short.txt') } }]],
  });
}

/** Plays sessions of the real host without commands of the checkout. */
export async function player(report, base) {
  const host = await install(VERSION);
  return { host, play: sessionPlayer(report, { base, host, hasPolicies: true, commands: { getTools: undefined, callTool: undefined } }), FILES };
}

export async function checkHost(job) {
  const { report, base, table } = job;
  const room = await npmRoom(job, 'npm for the host');
  await ok(room, table.get('npm'));
  addToPath(room, path.join(room.home, 'npm', 'bin'));
  const { play } = await player(report, base);
  const script = reads('read_file');
  const { playground, recorded, session } = await play({
    name: 'npm in the host',
    files: FILES,
    script,
    settings: { trusted: false },
    prepare: async (place) => {
      fs.rmSync(path.join(place.workspace, '.gemini'), { recursive: true });
      await ok(room, 'gemini-tools init --yes --trust', { cwd: place.workspace, variables: { HOME: place.home } });
    },
  });
  await report.claim('gemini_cli_calls_a_tool_of_the_npm_package', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(outputOf(answersTo(script(playground.workspace), recorded), 'short').includes('one line'));
  });
}
