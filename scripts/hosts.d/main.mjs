// Owns the command line, the order of things and the exit status of scripts/hosts.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { ending, inOwnDirectory, run, RUN_DIRECTORY } from '../e2e.d/child.mjs';
import { cacheDirectory } from '../e2e.d/host.mjs';
import { filesOf, writeFile } from '../e2e.d/playground.mjs';
import { Report } from '../e2e.d/report.mjs';
import { startChatApi } from './chat_api.mjs';
import { checkSession, FILES, STEPS } from './session.mjs';

const USAGE = `Usage: scripts/hosts [--host NAME]... [--bin DIR] [--keep]

Sets real hosts up with get_tools init, lets each make calls to serve_tools
without a terminal, against a loopback stand-in of the API of its model, and
undoes the set-up. A host is a file in scripts/hosts.d/hosts, which says how to
start it; one that npm does not have for this machine is skipped.

  --host NAME  only this host; can be repeated
  --bin DIR    the directory of get_tools and serve_tools (default: bin)
  --keep       leave the directories of the runs, with all requests

The hosts are kept in \${GEMINI_TOOLS_CACHE:-\${XDG_CACHE_HOME:-~/.cache}/gemini-tools}.
`;

const INSTALL_LIMIT_MS = 15 * 60_000;
// A launcher builds at its first use.
const COMMAND_LIMIT_MS = 30 * 60_000;
const SESSION_LIMIT_MS = 180_000;

const here = path.dirname(fileURLToPath(import.meta.url));

function readOptions() {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  let values;
  try {
    ({ values } = parseArgs({ options: { host: { ...text, multiple: true }, bin: text, keep: flag, help: { ...flag, short: 'h' } } }));
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  return { ...values, bin: path.resolve(values.bin ?? path.join(here, '..', '..', 'bin')) };
}

/** The hosts, by their files. */
async function hosts(names) {
  const files = fs.readdirSync(path.join(here, 'hosts')).sort();
  const all = await Promise.all(files.map(async (file) => (await import(`./hosts/${file}`)).default));
  const unknown = names?.find((name) => !all.some((host) => host.name === name));
  if (unknown) {
    process.stderr.write(`scripts/hosts: no host ${unknown}; there are ${all.map((host) => host.name).join(', ')}\n`);
    process.exit(2);
  }
  return all.filter((host) => names?.includes(host.name) ?? true);
}

/** The directory of the host's packages, installed where the cache does not have them, or why npm can't. */
async function install({ name, packages }) {
  const home = path.join(cacheDirectory(), [name, ...packages].join(' ').replaceAll(/[^\w.-]+/g, '-'));
  const modules = path.join(home, 'node_modules');
  if (fs.existsSync(home)) return { modules };
  fs.mkdirSync(path.dirname(home), { recursive: true });
  const unfinished = fs.mkdtempSync(path.join(path.dirname(home), `.${name}-`));
  fs.writeFileSync(path.join(unfinished, 'package.json'), '{"private":true}\n');
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1'];
  const result = await run('npm', ['install', ...flags, ...packages], { cwd: unfinished, env: process.env, limitMs: INSTALL_LIMIT_MS });
  // Another run may have been first; what it has installed is as good.
  if (result.status === 0 && !fs.existsSync(home)) fs.renameSync(unfinished, home);
  fs.rmSync(unfinished, { recursive: true, force: true });
  return result.status === 0 ? { modules } : { reason: `npm install ${ending(result)}: ${result.stderr.trim().split('\n')[0]}` };
}

/** Nothing of the machine's own settings, and no way to anything but this machine. */
function environment(place, bin, host, url) {
  const nowhere = 'http://127.0.0.1:9';
  return {
    PATH: [bin, path.dirname(process.execPath), '/usr/bin', '/bin'].join(path.delimiter),
    HOME: place.home,
    TMPDIR: place.temporary,
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    NO_PROXY: '127.0.0.1,localhost',
    [RUN_DIRECTORY]: place.root,
    ...host.variables?.(url),
  };
}

async function check(report, host, root, options) {
  const { modules, reason } = await install(host);
  const program = modules && path.join(modules, host.program);
  if (!program || !fs.existsSync(program)) return report.info(`skipped: ${reason ?? `${host.packages} has no ${host.program}`}`);

  const place = { root, workspace: path.join(root, 'work space'), home: path.join(root, 'home'), temporary: path.join(root, 'tmp') };
  for (const directory of [place.workspace, place.home, place.temporary]) fs.mkdirSync(directory, { recursive: true });
  for (const [name, bytes] of Object.entries(FILES)) writeFile(path.join(place.workspace, name), bytes);
  const api = await startChatApi(STEPS);
  const env = environment(place, options.bin, host, api.url);
  const start = (command, args, limitMs) => run(command, args, { cwd: place.workspace, env, limitMs });
  const setUp = (...args) => start(path.join(options.bin, 'get_tools'), args, COMMAND_LIMIT_MS);
  const succeeds = (name, result) =>
    report.claim(name, () => assert.equal(result.status, 0, `${ending(result)}\n${result.stdout}${result.stderr}`));
  try {
    if (host.prepare) await succeeds('it_gets_a_model', await start(program, host.prepare(api.url), SESSION_LIMIT_MS));
    for (const [name, text] of Object.entries(host.settings?.(api.url) ?? {})) writeFile(path.join(root, name), text);
    const before = filesOf(root);
    if (!(await succeeds('init_sets_it_up', await setUp('init', '--yes', '--host', host.name)))) return;
    const written = filesOf(root);
    await succeeds('doctor_finds_no_fault', await setUp('doctor', '--host', host.name));
    const session = await start(program, host.args('Do what is needed.'), SESSION_LIMIT_MS);
    fs.writeFileSync(path.join(root, 'requests.json'), JSON.stringify(api.requests, null, 2));
    fs.writeFileSync(path.join(root, 'session.txt'), `${session.stdout}\n${session.stderr}`);
    await succeeds('the_session_comes_to_its_end', session);
    await checkSession(report, api.requests, place, host);
    await succeeds('undo_succeeds', await setUp('init', '--yes', '--undo', '--host', host.name));
    const after = filesOf(root);
    await report.claim('undo_puts_back_what_was_there', () => {
      for (const name of Object.keys(written)) {
        if (!before[name]?.equals(written[name])) assert.equal(String(after[name]), String(before[name]), name);
      }
    });
  } finally {
    api.close();
  }
}

const options = readOptions();
const chosen = await hosts(options.host);
const report = new Report();
await inOwnDirectory('gemini-tools-hosts-', options.keep, async (base) => {
  for (const host of chosen) {
    report.about(`${host.name}:`);
    const root = path.join(base, host.name);
    try {
      await check(report, host, root, options);
    } catch (error) {
      await report.claim('the_run_comes_to_its_end', () => Promise.reject(error));
    }
  }
});
report.about('');
report.summary();
process.exitCode = report.failed === 0 ? 0 : 1;
