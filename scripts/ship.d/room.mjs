// Owns a room: a directory that is all of the world that an installation sees. It has a HOME, a PATH of links to the
// programs that it is given, a temporary directory and a project; it has no cargo, no compiler and no checkout.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { ending, run } from '../e2e.d/child.mjs';

// A hundred times what it takes: a loaded machine is no failure, a hang is.
const LIMIT_MS = 10 * 60_000;

/** What every command may use: a shell, and what the launchers of npm name. */
const ALWAYS = ['sh', 'env', 'bash', 'cat', 'mkdir', 'ls', 'git'];

/** Makes a room; `tools` are names on our PATH, or pairs of a name and the path that it is to lead to. */
export function makeRoom(base, name, { tools = [], variables = {} } = {}) {
  const root = path.join(base, name);
  const room = {
    root,
    home: path.join(root, 'home'),
    bin: path.join(root, 'bin'),
    // The space is there because people have one.
    project: path.join(root, 'a project'),
    downloads: path.join(root, 'downloads'),
  };
  for (const directory of [room.home, room.bin, room.project, room.downloads, path.join(root, 'tmp')]) fs.mkdirSync(directory, { recursive: true });
  for (const tool of [...ALWAYS, ...tools]) {
    const [title, target] = Array.isArray(tool) ? tool : [tool, which(tool)];
    fs.symlinkSync(target, path.join(room.bin, title));
  }
  fs.writeFileSync(path.join(room.project, 'notes.txt'), 'from the room\n');
  // A program with arguments that each command in the room is started by.
  room.wrapper = [];
  room.environment = {
    HOME: room.home,
    PATH: room.bin,
    TMPDIR: path.join(root, 'tmp'),
    LANG: 'C.UTF-8',
    ...variables,
  };
  return room;
}

/** Puts a directory in front of the room's PATH, as a user does in a profile. */
export function addToPath(room, directory) {
  room.environment.PATH = `${directory}:${room.environment.PATH}`;
}

/** Runs a line of shell in the room; gives the result, whatever it is. */
export function sh(room, line, { cwd = room.project, input = '', variables = {} } = {}) {
  const [program, ...args] = [...room.wrapper, path.join(room.bin, 'sh'), '-c', line];
  return run(program, args, {
    cwd,
    env: { ...room.environment, ...variables },
    input,
    limitMs: LIMIT_MS,
  });
}

/** Runs a line of shell in the room, and gives what it prints; throws where it fails. */
export async function ok(room, line, options) {
  const result = await sh(room, line, options);
  if (result.status !== 0) throw new Error(`${line} ${ending(result)}: ${result.stdout}${result.stderr}`);
  return result.stdout;
}

export function which(program) {
  return execFileSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', program], { encoding: 'utf8' }).trim();
}
