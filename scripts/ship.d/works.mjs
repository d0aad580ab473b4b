// Owns the claims that hold for every installation, however it came to be.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { ok, sh } from './room.mjs';

const TOOLS = ['glob', 'read_file', 'run_shell_command', 'smart_edit', 'web_fetch', 'write_file'];

/** Runs an installation and all that must work after it. `after` makes of the room what the user does in a profile. */
export async function installs(report, room, command, { after = () => {}, cwd, variables } = {}) {
  const started = performance.now();
  const installed = await report.claim('it_is_installed_by_the_command_of_the_readme', async () => {
    await ok(room, command, { cwd, variables });
  });
  if (!installed) return false;
  after();
  const answered = await report.claim('call_tool_answers', async () => {
    const input = JSON.stringify({ absolute_path: path.join(room.project, 'notes.txt') });
    const said = await ok(room, 'call_tool read_file', { input });
    assert.ok(JSON.parse(said).functionResponse.response.output.includes('from the room'), said);
  });
  if (answered) report.info(`${((performance.now() - started) / 1000).toFixed(1)} s from nothing to the first answer`);
  await works(report, room);
  return true;
}

/** What must work wherever the commands are on the PATH. */
export async function works(report, room) {
  await report.claim('get_tools_declares_the_tools', async () => {
    const declared = JSON.parse(await ok(room, 'get_tools')).map((tool) => tool.name);
    assert.deepEqual(TOOLS.filter((name) => !declared.includes(name)), [], 'these are missing');
  });
  await report.claim('what_reaches_the_network_is_found', async () => {
    const refused = await sh(room, "call_tool web_fetch prompt='Read http://127.0.0.1:1/.'");
    assert.equal(refused.status, 3, refused.stdout + refused.stderr);
  });
  await report.claim('the_licences_of_what_is_linked_are_there', async () => {
    const texts = await ok(room, 'get_tools --licenses');
    assert.match(texts, /^serde_json \d/m);
    assert.match(texts, /Permission is hereby granted/);
  });
  await isSetUp(report, room, 'get_tools init --yes --trust');
}

/** What `init` writes leads to executables, and `doctor` finds nothing that can't work. */
export async function isSetUp(report, room, init) {
  await report.claim('init_names_the_executables_themselves', async () => {
    await ok(room, init);
    for (const command of Object.values(commands(room))) {
      const file = found(room, command);
      assert.ok(isExecutable(file), `${command} leads to ${file}, which is not an executable of ours`);
    }
  });
  await report.claim('doctor_finds_nothing_that_can_not_work', async () => {
    await ok(room, `${commands(room).discoveryCommand} doctor`);
  });
}

export function commands(room) {
  return JSON.parse(fs.readFileSync(path.join(room.project, '.gemini', 'settings.json'), 'utf8')).tools;
}

function found(room, command) {
  const word = command.replace(/^'(.*)'$/, '$1');
  if (word.includes('/')) return fs.realpathSync(word);
  const directory = room.environment.PATH.split(':').find((one) => fs.existsSync(path.join(one, word)));
  return fs.realpathSync(path.join(directory, word));
}

function isExecutable(file) {
  const magic = fs.readFileSync(file).subarray(0, 4).toString('latin1');
  return ['\x7fELF', '\xcf\xfa\xed\xfe'].includes(magic);
}
