// Starts an executable of gemini-tools in the place of this process. npm has put the executables for this machine into a
// package of their own, an optional dependency of this one. Node takes some 60 ms to come here, so hosts should name
// the executable itself: `gemini-tools init` writes its path into the settings.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const PLATFORMS = Object.keys(require('./package.json').optionalDependencies);

function fail(message) {
  process.stderr.write(`gemini-tools: ${message}\n`);
  process.exit(1);
}

/** The directory of the executables. */
function directory() {
  const wanted = `@gemini-tools/${process.platform}-${process.arch}`;
  try {
    return path.join(path.dirname(require.resolve(`${wanted}/package.json`)), 'bin');
  } catch {
    // says below what can be done
  }
  const machine = `${process.platform} on ${process.arch}`;
  if (!PLATFORMS.includes(wanted)) {
    const names = PLATFORMS.map((name) => name.slice('@gemini-tools/'.length)).join(', ');
    fail(`there are no executables for ${machine}, only for ${names}. cargo install gemini-tools builds them from source.`);
  }
  const others = PLATFORMS.filter((name) => fs.existsSync(path.join(__dirname, '..', name)) || fs.existsSync(path.join(__dirname, 'node_modules', name)));
  if (others.length > 0) {
    fail(`this installation is for another machine (${others.join(', ')}), and this is ${machine}. Install gemini-tools here anew: npm install gemini-tools`);
  }
  fail(`${wanted}, which has the executables, is not installed. npm leaves it out with --omit=optional and where a lock file was made without it: npm install --include=optional gemini-tools`);
}

/**
 * What npx has installed lies in a cache, which may be emptied. Settings that `init` writes should name something that
 * stays, so the executables are copied to the user's data first.
 */
function kept(source) {
  const home = os.homedir();
  const data =
    process.platform === 'darwin'
      ? path.join(home, 'Library', 'Application Support')
      : process.env.XDG_DATA_HOME || path.join(home, '.local', 'share');
  const target = path.join(data, 'gemini-tools');
  for (const [from, to] of [
    [source, path.join(target, 'bin')],
    [path.join(source, '..', 'share', 'doc', 'gemini-tools'), path.join(target, 'share', 'doc', 'gemini-tools')],
  ]) {
    fs.mkdirSync(to, { recursive: true });
    for (const name of fs.readdirSync(from)) {
      // Renamed into place: an executable that is being run can't be written over.
      const unfinished = path.join(to, `.${name}.${process.pid}`);
      fs.copyFileSync(path.join(from, name), unfinished);
      fs.renameSync(unfinished, path.join(to, name));
    }
  }
  process.stderr.write(`gemini-tools: the executables are in ${path.join(target, 'bin')}, because npx may empty its cache\n`);
  return path.join(target, 'bin');
}

module.exports = function launch(program, command) {
  let bin = directory();
  const args = process.argv.slice(2);
  const isNpx = bin.split(path.sep).includes('_npx');
  if (isNpx && program === 'get_tools' && args[0] === 'init' && !args.includes('--help') && !args.includes('-h')) {
    try {
      bin = kept(bin);
    } catch (error) {
      fail(`the executables can't be copied out of npx's cache: ${error.message}`);
    }
  }
  const file = path.join(bin, program);
  // From node 22.15 on; elsewhere this process waits for the other.
  if (process.execve) {
    try {
      process.removeAllListeners('warning');
      process.execve(file, [program, ...args], process.env);
    } catch (error) {
      fail(`${file} can't be started: ${error.message}`);
    }
  }
  const child = spawn(file, args, { stdio: 'inherit', argv0: program });
  child.on('error', (error) => fail(`${file} can't be started: ${error.message}`));
  // What ends us ends it, and it decides how. A terminal sends SIGINT to both.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' && signal !== 'SIGQUIT') child.kill(signal);
    });
  }
  child.on('close', (status, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exitCode = status;
    }
  });
};
