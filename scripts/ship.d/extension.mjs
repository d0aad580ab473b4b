// Owns the claims about the extension of Gemini CLI: it is installed from a directory, enabled, used, brought up to date
// and removed by the real Gemini CLI.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { ending, run } from '../e2e.d/child.mjs';
import { environment } from '../e2e.d/host.mjs';
import { makePlayground } from '../e2e.d/playground.mjs';
import { answersTo, conversation, declarationsOf } from '../e2e.d/records.mjs';
import { API_KEY } from '../e2e.d/ways_in.mjs';
import { player, reads } from './host.mjs';
import { makeRoom, ok } from './room.mjs';

const LIMIT_MS = 120_000;
const PREFIX = 'mcp_gemini-tools_';

/** What lets a model call the tools that only read, without a terminal. */
const POLICY = `[[rule]]
mcpName = "gemini-tools"
toolName = ["read_file", "glob", "list_directory", "search_file_content"]
decision = "allow"
priority = 100
`;

export async function checkExtension({ report, base, checkout, find, table }) {
  const archive = find(new RegExp(`^linux\\.${process.arch}\\.gemini-tools\\.tar\\.gz$`));
  const { host, play } = await player(report, base);
  const playground = await makePlayground(path.join(base, 'extension'), { files: { 'short.txt': 'one line\n' } });
  const room = makeRoom(base, 'extension downloads', { tools: ['tar', 'gzip', 'rm'] });
  fs.copyFileSync(archive, path.join(room.downloads, path.basename(archive)));
  // It asks for consent where what it would start has another path than before.
  const gemini = (place, args) =>
    run(process.execPath, [host.entry, ...args], { input: 'y\n', cwd: place.workspace, env: environment(place, API_KEY.variables('http://127.0.0.1:9')), limitMs: LIMIT_MS });
  const says = async (place, pattern, ...args) => {
    const said = await gemini(place, args);
    const text = said.stdout + said.stderr;
    assert.equal(said.status, 0, `gemini ${args.join(' ')} ${ending(said)}: ${text}`);
    assert.match(text, pattern);
  };
  // The command of the README, with the host that is tried in the place of the one on the PATH, and without its question.
  const command = [...table].find(([title]) => title.startsWith('Gemini CLI'))[1];
  const unpacked = unpackedByThePage(checkout, command);
  const wrapper = `#!/bin/sh\nexec '${process.execPath}' '${host.entry}' "$@" --consent\n`;
  fs.writeFileSync(path.join(room.bin, 'gemini'), wrapper, { mode: 0o755 });
  // What is to be excluded is written between unpacking and installing, as the page says.
  const install = async (place, more = {}, edit = (text) => text) => {
    const directory = path.join(room.downloads, 'gemini-tools');
    fs.rmSync(directory, { recursive: true, force: true });
    await ok(room, unpacked, { cwd: room.downloads });
    const manifest = path.join(directory, 'gemini-extension.json');
    fs.writeFileSync(manifest, JSON.stringify({ ...JSON.parse(fs.readFileSync(manifest, 'utf8')), ...more }));
    const policy = path.join(directory, 'policies', 'plan-mode.toml');
    fs.writeFileSync(policy, edit(fs.readFileSync(policy, 'utf8')));
    const variables = { ...environment(place, API_KEY.variables('http://127.0.0.1:9')), PATH: room.environment.PATH };
    await ok(room, command, { cwd: room.downloads, variables });
  };
  const folder = (place) => path.join(place.home, '.gemini', 'extensions', 'gemini-tools');

  const installed = await report.claim('it_is_installed_by_the_command_of_the_readme', async () => {
    await install(playground);
    await says(playground, /gemini-tools/, 'extensions', 'list');
    assert.ok(fs.existsSync(path.join(folder(playground), 'bin', 'serve_tools')));
  });
  if (!installed) return;
  await report.claim('the_host_finds_nothing_wrong_with_it_and_lists_its_skill', async () => {
    await says(playground, /successfully validated/, 'extensions', 'validate', folder(playground));
    await says(playground, /gemini-tools \[Enabled\]/, 'skills', 'list');
  });

  const session = async (name, { script, more = {}, args = [], edit }) =>
    play({
      name,
      files: { 'short.txt': 'one line\n' },
      script,
      settings: { trusted: true },
      args,
      prepare: async (place) => {
        fs.mkdirSync(path.join(place.home, '.gemini', 'policies'), { recursive: true });
        fs.writeFileSync(path.join(place.home, '.gemini', 'policies', 'gemini-tools.toml'), POLICY);
        await install(place, more, edit);
      },
    });

  const script = reads(`${PREFIX}read_file`);
  const answerIn = ({ playground: { workspace }, recorded }) => JSON.stringify(answersTo(script(workspace), recorded).get('short') ?? null);
  const plain = await session('the extension', { script });
  await report.claim('the_model_calls_a_tool_of_the_extension', () => {
    assert.equal(plain.session.status, 0, `the host ${ending(plain.session)}`);
    assert.match(answerIn(plain), /one line/);
    assert.deepEqual(plain.session.leftBehind, []);
  });
  await report.claim('the_model_is_told_when_to_prefer_its_tools', () => {
    const told = JSON.stringify(conversation(plain.recorded)[0].body);
    const [line] = fs.readFileSync(path.join(checkout, 'packaging/extension/GEMINI.md'), 'utf8').split('\n').slice(2);
    assert.ok(told.includes(line), 'GEMINI.md is not part of the request');
  });
  await report.claim('built_in_tools_stay_beside_those_of_the_extension', () => {
    const declared = declarationsOf(conversation(plain.recorded)[0].body);
    for (const name of ['read_file', `${PREFIX}read_file`]) assert.ok(declared.has(name), `${name} is missing`);
  });
  const excluded = await session('the extension alone', { script, more: excludedByThePage(checkout) });
  await report.claim('what_the_page_says_to_exclude_leaves_those_of_the_extension', () => {
    const declared = declarationsOf(conversation(excluded.recorded)[0].body);
    for (const name of ['read_file', 'glob', 'list_directory']) {
      assert.ok(!declared.has(name), `${name} is still there`);
      assert.ok(declared.has(PREFIX + name), `${PREFIX + name} is missing`);
    }
    assert.match(answerIn(excluded), /one line/);
  });

  const changing = /toolName = (\[.*\])/.exec(fs.readFileSync(path.join(checkout, 'packaging/extension/policies/plan-mode.toml'), 'utf8'));
  const hidden = async (name, args, edit) => {
    const { recorded } = await session(name, { script, args, edit });
    const declared = declarationsOf(conversation(recorded)[0].body);
    return JSON.parse(changing[1]).filter((tool) => !declared.has(PREFIX + tool));
  };
  await report.claim('in_plan_mode_the_model_has_no_tool_that_changes_something', async () => {
    assert.deepEqual(await hidden('the extension in plan mode', ['--approval-mode', 'plan']), JSON.parse(changing[1]));
  });
  await report.claim('its_policy_is_what_hides_them_in_the_modes_that_it_names', async () => {
    assert.deepEqual(await hidden('the extension in yolo mode', ['--yolo']), []);
    const anywhere = (text) => text.replace(/^modes = .*\n/m, '');
    assert.deepEqual(await hidden('its policy in yolo mode', ['--yolo'], anywhere), JSON.parse(changing[1]));
  });

  await report.claim('it_is_disabled_and_enabled', async () => {
    await says(playground, /disabled/i, 'extensions', 'disable', 'gemini-tools');
    await says(playground, /enabled/i, 'extensions', 'enable', 'gemini-tools');
  });
  await report.claim('it_is_brought_up_to_date', async () => {
    const source = path.join(room.downloads, 'gemini-tools', 'gemini-extension.json');
    fs.writeFileSync(source, JSON.stringify({ ...JSON.parse(fs.readFileSync(source, 'utf8')), version: '99.0.0' }));
    await says(playground, /99\.0\.0/, 'extensions', 'update', 'gemini-tools');
    assert.equal(JSON.parse(fs.readFileSync(path.join(folder(playground), 'gemini-extension.json'), 'utf8')).version, '99.0.0');
  });
  await report.claim('it_is_uninstalled_without_a_trace', async () => {
    await says(playground, /uninstalled/i, 'extensions', 'uninstall', 'gemini-tools');
    assert.ok(!fs.existsSync(folder(playground)));
  });
}

/** How docs/gemini-cli.md gets from the archive to the directory that `command` installs. */
function unpackedByThePage(checkout, command) {
  const line = /^(mkdir gemini-tools .*) && (gemini extensions install .*)$/m.exec(fs.readFileSync(path.join(checkout, 'docs/gemini-cli.md'), 'utf8'));
  assert.equal(line?.[2], command, 'the page and the README have different commands');
  return line[1];
}

/** What docs/gemini-cli.md adds to the manifest for a user who wants no other tools. */
function excludedByThePage(checkout) {
  const page = fs.readFileSync(path.join(checkout, 'docs/gemini-cli.md'), 'utf8');
  const section = page.split('\n## ').find((part) => part.startsWith('As an extension'));
  return JSON.parse(/```json\n([^]*?)```/.exec(section)[1]);
}
