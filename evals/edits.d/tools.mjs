// Owns the tools that are measured: each starts once, edits a file in a directory, and says in a line what it did.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

import { run } from '../../scripts/e2e.d/child.mjs';
import { install } from '../../scripts/e2e.d/host.mjs';

const CALL_LIMIT_MS = 20_000;

/** What each tool is called in the table, and how it is made. */
export const PEERS = {
  '0.8.2 replace': { version: '0.8.2', tool: 'replace' },
  '0.8.2 smart_edit': { version: '0.8.2', tool: 'smart_edit' },
  '0.61.0 replace': { version: '0.61.0', tool: 'smart_edit' },
};
export const OURS = { 'our replace': 'replace', 'our smart_edit': 'smart_edit' };

function paramsOf(entry, file) {
  const { instruction, old_string, new_string } = entry;
  return { file_path: file, instruction, old_string, new_string };
}

/** An environment without keys and without settings of the machine. */
function environment(home) {
  return { PATH: process.env.PATH, HOME: home, TMPDIR: home, LANG: 'C.UTF-8', NO_COLOR: '1' };
}

/** A class of Gemini CLI, kept loaded in a process of its own. */
export async function startPeer({ version, tool }, home) {
  const { entry } = await install(version);
  const directory = entry.slice(0, entry.lastIndexOf(`${path.sep}node_modules${path.sep}@google`));
  const script = fileURLToPath(new URL('host.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, directory, tool], {
    cwd: home,
    env: environment(home),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async edit(root, file, entry) {
      child.stdin.write(`${JSON.stringify({ root, params: paramsOf(entry, file) })}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`Gemini CLI ${version} ended at ${entry.id}`);
      return JSON.parse(value).said;
    },
    stop: () => child.stdin.end(),
  };
}

/** Our call_tool, one process for each call. */
export function startOurs(callTool, tool, home) {
  return {
    async edit(root, file, entry) {
      const result = await run(callTool, [tool], {
        cwd: root,
        env: environment(home),
        input: JSON.stringify(paramsOf(entry, file)),
        limitMs: CALL_LIMIT_MS,
      });
      const said = `${result.stdout}${result.stderr}`.trim();
      return result.status === 0 ? said : `status ${result.status ?? result.signal}: ${said}`;
    },
    stop: () => {},
  };
}

/** Whether our build has the tool; to an older one it would be an error at each case. */
export async function hasTool(callTool, tool, home) {
  const result = await run(callTool, [tool], { cwd: home, env: environment(home), input: '{}', limitMs: CALL_LIMIT_MS });
  return result.status !== null && !result.stdout.includes('tool_not_registered');
}

export function makeHome(base) {
  const home = path.join(base, 'home');
  fs.mkdirSync(home, { recursive: true });
  return home;
}
