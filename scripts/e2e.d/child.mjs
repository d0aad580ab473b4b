// Owns child processes: each gets its own process group, a time limit and captured output, and no group outlives us.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const OUTPUT_CHARS = 2_000_000;
const ESCAPED_GRACE_MS = 1_000;
const liveGroups = new Set();

/**
 * Runs a program to its end. Never rejects: what went wrong stands in the result, also what was left of
 * its process group a moment after it had ended.
 */
export function run(program, args, { cwd, env, input = '', limitMs }) {
  return new Promise((resolve) => {
    const started = performance.now();
    const child = spawn(program, args, { cwd, env, detached: true, stdio: [input === '' ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
    const result = { status: null, signal: null, stdout: '', stderr: '', timedOut: false, leftBehind: [], durationMs: 0 };
    if (child.pid) liveGroups.add(child.pid);

    for (const stream of ['stdout', 'stderr']) {
      child[stream].setEncoding('utf8');
      child[stream].on('data', (text) => {
        if (result[stream].length < OUTPUT_CHARS) result[stream] += text;
      });
    }
    if (child.stdin) {
      child.stdin.on('error', () => {}); // the child may end without reading; its status says enough
      child.stdin.end(input);
    }

    const limit = setTimeout(() => {
      result.timedOut = true;
      killGroup(child.pid);
      setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), ESCAPED_GRACE_MS).unref();
    }, limitMs);

    const finish = async (status, signal) => {
      clearTimeout(limit);
      result.durationMs = performance.now() - started;
      result.status = status;
      result.signal = signal;
      if (child.pid) {
        if (!result.timedOut && !(await groupEnds(child.pid))) result.leftBehind.push(`process group ${child.pid}`);
        killGroup(child.pid);
        liveGroups.delete(child.pid);
      }
      resolve(result);
    };
    // Held back by whoever has inherited the pipes; the limit ends the group, and after it waits for nobody.
    child.once('close', finish);
    child.once('error', (error) => {
      result.stderr += `${error.message}\n`;
      if (!child.pid) finish(null, null);
    });
  });
}

/** How a finished process ended, for a message. */
export function ending(result) {
  if (result.timedOut) return 'was killed at its time limit';
  if (result.signal) return `was ended by ${result.signal}`;
  return result.status === null ? 'could not be started' : `ended with status ${result.status}`;
}

function killAllGroups() {
  for (const group of liveGroups) killGroup(group);
}

/** The environment variable that tells every process of a run to which directory the run belongs. */
export const RUN_DIRECTORY = 'GEMINI_TOOLS_E2E_DIRECTORY';

/**
 * Ends the processes whose run lies in `directory`, in whatever group or session they are, and returns their command
 * lines. Sees nothing on a system without /proc.
 */
export function endStrays(directory) {
  const strays = [];
  const marker = `${RUN_DIRECTORY}=${directory}`;
  const processes = fs.existsSync('/proc/self/environ') ? fs.readdirSync('/proc') : [];
  for (const pid of processes.filter((name) => /^\d+$/.test(name))) {
    try {
      if (!fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(marker)) continue;
      strays.push(fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim());
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // ended meanwhile, or another user's
    }
  }
  return strays;
}

/**
 * Runs `main` with a new temporary directory. When it ends, by itself or because of a signal, no process of ours is left,
 * nor the directory unless `keeps`.
 */
export async function inOwnDirectory(prefix, keeps, main) {
  const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), prefix)));
  const tidyUp = () => {
    killAllGroups();
    endStrays(directory);
    if (keeps) console.log(`kept ${directory}`);
    else fs.rmSync(directory, { recursive: true, force: true });
  };
  for (const [signal, status] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]]) {
    process.on(signal, () => {
      tidyUp();
      process.exit(status);
    });
  }
  try {
    await main(directory);
  } finally {
    tidyUp();
  }
}

async function groupEnds(group) {
  const patienceMs = 2_000;
  const deadline = performance.now() + patienceMs;
  while (groupIsAlive(group)) {
    if (performance.now() > deadline) return false;
    await new Promise((wake) => setTimeout(wake, 25));
  }
  return true;
}

function groupIsAlive(group) {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

function killGroup(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // already gone
  }
}
