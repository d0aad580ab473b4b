// Owns running our edit tools on many edits: processes of `call_tool --batch`, each edit on a file of its own.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

/** After so many edits a process is replaced, and the backups that it made are deleted. */
const EDITS_OF_A_PROCESS = 500;

/** So many calls are sent ahead of their answers. */
const CALLS_AHEAD = 16;

/** Gives `main` a new directory where files are fastest to write: what becomes of them is measured, not the disk. */
export async function inWorkDirectory(main) {
  const base = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
  const work = fs.realpathSync(fs.mkdtempSync(path.join(base, 'gemini-tools-edits-')));
  const tidyUp = () => fs.rmSync(work, { recursive: true, force: true });
  for (const [signal, status] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGHUP', 129]]) {
    process.once(signal, () => {
      tidyUp();
      process.exit(status);
    });
  }
  try {
    return await main(work);
  } finally {
    tidyUp();
  }
}

/**
 * Makes edits `{text, old, new, extension}` by a tool, in `workers` processes at once, and calls `done(index, after, said)`
 * with the file as it is then and the tool's answer.
 */
export async function editAll({ callTool, tool, edits, work, workers = 2, done }) {
  let next = 0;
  const one = async (worker) => {
    while (next < edits.length) {
      const from = next;
      next = Math.min(from + EDITS_OF_A_PROCESS, edits.length);
      await editSome({ callTool, tool, edits, from, to: next, done, root: path.join(work, String(worker)) });
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, worker) => one(worker)));
}

async function editSome({ callTool, tool, edits, from, to, done, root }) {
  const home = path.join(root, 'home');
  fs.mkdirSync(home, { recursive: true });
  const project = path.join(root, 'project');
  fs.mkdirSync(project);
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, LANG: 'C.UTF-8', NO_COLOR: '1' };
  const child = spawn(callTool, ['--batch'], { cwd: project, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  child.stdin.on('error', () => {}); // it is told by the missing answer
  const file = (i) => `${i}${edits[i].extension ?? '.txt'}`;
  let [sent, at] = [from, from];
  const sendAhead = () => {
    for (; sent < Math.min(at + CALLS_AHEAD, to); sent++) {
      const { text, old, new: fresh } = edits[sent];
      fs.writeFileSync(path.join(project, file(sent)), text);
      const args = { file_path: file(sent), instruction: 'Make the change.', old_string: old, new_string: fresh };
      child.stdin.write(`${JSON.stringify({ name: tool, args })}\n`);
    }
    if (sent === to) child.stdin.end();
  };
  sendAhead();
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const { response } = JSON.parse(line).functionResponse;
    const place = path.join(project, file(at));
    done(at, fs.readFileSync(place, 'utf8'), response);
    fs.rmSync(place);
    at++;
    sendAhead();
  }
  await ended;
  fs.rmSync(root, { recursive: true, force: true });
  if (at !== to) throw new Error(`call_tool --batch ended at edit ${at} of ${to}`);
}
