// Owns the real Gemini CLI: getting a version from npm, learning what it can do, running it headless in a clean environment.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { ending, run, RUN_DIRECTORY } from './child.mjs';
import { API_KEY } from './ways_in.mjs';

const INSTALL_LIMIT_MS = 15 * 60_000;
const HELP_LIMIT_MS = 60_000;
export const RUN_LIMIT_MS = 120_000;

export function cacheDirectory(env = process.env) {
  if (env.GEMINI_TOOLS_CACHE) return path.resolve(env.GEMINI_TOOLS_CACHE);
  return path.join(env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'gemini-tools');
}

/** Installs the version where the cache does not have it, and returns `{version, entry, fresh}`. */
export async function install(version) {
  const home = path.join(cacheDirectory(), `gemini-cli-${version}`);
  const fresh = !fs.existsSync(home);
  if (fresh) await installInto(home, version);
  const packageDirectory = path.join(home, 'node_modules', '@google', 'gemini-cli');
  const manifest = JSON.parse(fs.readFileSync(path.join(packageDirectory, 'package.json'), 'utf8'));
  const bin = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin.gemini;
  return { version: manifest.version, entry: path.join(packageDirectory, bin), fresh };
}

async function installInto(home, version) {
  fs.mkdirSync(path.dirname(home), { recursive: true });
  const unfinished = fs.mkdtempSync(path.join(path.dirname(home), `.gemini-cli-${version}-`));
  try {
    fs.writeFileSync(path.join(unfinished, 'package.json'), '{"private":true}\n');
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const result = await run('npm', ['install', ...flags, `@google/gemini-cli@${version}`], {
      cwd: unfinished,
      env: process.env,
      limitMs: INSTALL_LIMIT_MS,
    });
    if (result.status !== 0) throw new Error(`npm install ${ending(result)}\n${result.stderr}`);
    fs.renameSync(unfinished, home);
  } catch (error) {
    // another run may have been first; what it installed is as good
    if (!['ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Whether the CLI knows `--policy`; versions without it don't guard discovered tools either. */
export async function knowsPolicies(host, playground) {
  const result = await run(process.execPath, [host.entry, '--help'], {
    cwd: playground.workspace,
    env: environment(playground, API_KEY.variables('http://127.0.0.1:9')),
    limitMs: HELP_LIMIT_MS,
  });
  return /--policy\b/.test(result.stdout + result.stderr);
}

/** One headless session of the CLI in the playground's workspace; `way` says how it gets to the stand-in (ways_in.mjs). */
export function runHost(host, playground, apiUrl, prompt, args = [], way = API_KEY) {
  return run(process.execPath, [host.entry, ...args, '-p', prompt], {
    cwd: playground.workspace,
    env: environment(playground, way.variables(apiUrl)),
    limitMs: RUN_LIMIT_MS,
  });
}

/** What any host gets: a HOME of its own, no settings of the machine, and the variables of a way in. */
export function environment(playground, variables) {
  const nowhere = path.join(playground.home, 'no-such-file.json');
  return {
    PATH: process.env.PATH,
    HOME: playground.home,
    TMPDIR: playground.temporary,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color', // a lesser one is complained about
    NO_COLOR: '1',
    NODE_OPTIONS: `--import=${new URL('loopback_only.mjs', import.meta.url).href}`,
    [RUN_DIRECTORY]: playground.root,
    ...playground.variables,
    ...variables,
    // Settings of the machine would leak into the run.
    GEMINI_CLI_SYSTEM_SETTINGS_PATH: nowhere,
    GEMINI_CLI_SYSTEM_DEFAULTS_PATH: nowhere,
    // In a folder that nobody has trusted, a headless 0.61.0 ends at once with status 55.
    ...(playground.trusted && { GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
    // The CLI would start itself once more, only to raise its heap limit.
    GEMINI_CLI_NO_RELAUNCH: 'true',
  };
}
