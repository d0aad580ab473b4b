// Owns the claims about the npm packages: how they are installed, what is written where, and what is said where there is
// nothing to install.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { addToPath, makeRoom, ok, sh } from './room.mjs';
import { startRegistry } from './registry.mjs';
import { commands, installs, isSetUp, works } from './works.mjs';

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

let shared;

/** A room with node and npm, and the registry that all of them share: the packages are published once. */
export async function npmRoom({ base, find }, name) {
  const isFirst = !shared;
  shared ??= await startRegistry(path.join(base, 'registry'));
  const registry = shared;
  const room = makeRoom(base, name, {
    tools: ['node', 'npm', 'npx', 'tar', 'gzip', 'rm'],
    // Without it, a global installation would go where node is.
    variables: { ...registry.environment, npm_config_prefix: path.join(base, name, 'home', 'npm') },
  });
  room.registry = registry;
  fs.writeFileSync(path.join(room.home, '.npmrc'), registry.login);
  const own = `linux-${process.arch}`;
  const platform = find(new RegExp(`^gemini-tools-${own}-[\\d.]+\\.tgz$`));
  const main = find(/^gemini-tools-[\d.]+\.tgz$/);
  room.files = { platform, main };
  if (!isFirst) return room;
  await ok(room, `npm publish --access public --loglevel=error '${platform}'`);
  await ok(room, `npm publish --loglevel=error '${main}'`);
  // The other platforms have a package each; their executables don't run here.
  for (const other of PLATFORMS.filter((one) => one !== own)) await publishAs(room, platform, versionOf(main), other);
  return room;
}

function versionOf(file) {
  return /-([\d.]+)\.tgz$/.exec(file)[1];
}

/** Publishes a package once more with another version, or for another platform. */
async function publishAs(room, file, version, platform) {
  const directory = fs.mkdtempSync(path.join(room.root, 'tmp', 'package-'));
  await ok(room, `tar -xzf '${file}' -C '${directory}'`);
  const manifest = path.join(directory, 'package', 'package.json');
  const content = JSON.parse(fs.readFileSync(manifest, 'utf8'));
  content.version = version;
  for (const name of Object.keys(content.optionalDependencies ?? {})) content.optionalDependencies[name] = version;
  if (platform) {
    content.name = `@gemini-tools/${platform}`;
    // Nothing of them runs here, and publishing them takes its time.
    if (!platform.startsWith(`linux-${process.arch}`)) fs.rmSync(path.join(directory, 'package', 'bin'), { recursive: true });
    [content.os, content.cpu] = platform.split('-').map((word) => [word]);
  }
  fs.writeFileSync(manifest, JSON.stringify(content));
  await ok(room, 'npm publish --access public --loglevel=error', { cwd: path.join(directory, 'package') });
}

export async function checkNpm(job) {
  const { report, table } = job;
  const room = await npmRoom(job, 'npm');
  const bin = path.join(room.home, 'npm', 'bin');
  if (!(await installs(report, room, table.get('npm'), { after: () => addToPath(room, bin) }))) return;
  await report.claim('a_second_command_of_npm_is_get_tools_too', async () => {
    assert.equal(await ok(room, 'gemini-tools --version'), await ok(room, 'get_tools --version'));
  });
  await report.claim('a_status_and_a_signal_come_through_the_command_of_npm', async () => {
    assert.equal((await sh(room, 'call_tool read_file absolute_path=none.txt')).status, 1);
    assert.equal((await sh(room, 'get_tools --no-such-option')).status, 2);
    // Its parent is node, which must end with it.
    const line = 'call_tool read_file < /dev/zero & sleep 0.5; kill -TERM $!; wait $!';
    fs.symlinkSync('/bin/sleep', path.join(room.bin, 'sleep'));
    const ended = await sh(room, line);
    assert.ok([1, 130, 143].includes(ended.status), `status ${ended.status}: ${ended.stdout}${ended.stderr}`);
    assert.deepEqual(ended.leftBehind, []);
  });
  await report.claim('an_upgrade_leaves_the_settings_as_they_are_and_working', async () => {
    const before = commands(room);
    await publishAs(room, room.files.platform, '99.0.0', `linux-${process.arch}`);
    await publishAs(room, room.files.main, '99.0.0');
    await ok(room, table.get('npm'));
    const installed = JSON.parse(await ok(room, 'npm ls -g --json gemini-tools'));
    assert.equal(installed.dependencies['gemini-tools'].version, '99.0.0');
    await ok(room, `${before.discoveryCommand} doctor`);
  });
  await report.claim('npm_takes_it_away_again', async () => {
    await ok(room, 'npm uninstall -g gemini-tools');
    assert.deepEqual(fs.readdirSync(bin), []);
  });
  await checkLocal(report, room);
  await checkWrongMachines(report, room);
  await report.claim('nothing_was_asked_of_the_registry_but_these_packages', () => {
    const names = room.registry.asked.map((line) => line.split(' ')[1]).filter((name) => !/^\/(@gemini-tools\/|gemini-tools|-\/)/.test(name));
    assert.deepEqual(names, []);
  });
}

/** As a dependency of a project, with a name of the executables that a `git pull` on another machine does not break. */
async function checkLocal(report, room) {
  const project = path.join(room.root, 'npm project');
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, 'package.json'), '{"private": true}\n');
  await report.claim('a_project_has_it_as_a_dependency_without_scripts', async () => {
    await ok(room, 'npm install --save-dev --ignore-scripts gemini-tools', { cwd: project });
    assert.match(await ok(room, 'npx get_tools --format names', { cwd: project }), /^read_file$/m);
    assert.deepEqual(fs.readdirSync(path.join(project, 'node_modules/@gemini-tools')), [`linux-${process.arch}`]);
  });
}

async function checkWrongMachines(report, room) {
  const project = path.join(room.root, 'wrong machine');
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, 'package.json'), '{"private": true}\n');
  const says = async (line, pattern) => {
    const said = await sh(room, line, { cwd: project });
    assert.equal(said.status, 1, said.stdout + said.stderr);
    assert.match(said.stderr, pattern);
    assert.equal(said.stdout, '');
  };
  await report.claim('an_installation_of_another_machine_says_so', async () => {
    await ok(room, `npm install --os=darwin --cpu=arm64 gemini-tools@${versionOf(room.files.main)}`, { cwd: project });
    await says('node node_modules/gemini-tools/bin/get_tools.js', /is for another machine \(@gemini-tools\/darwin-arm64\), and this is linux on/);
  });
  await report.claim('an_installation_without_optional_dependencies_says_so', async () => {
    await ok(room, 'rm -r node_modules package-lock.json; npm install --omit=optional gemini-tools', { cwd: project });
    await says('node node_modules/gemini-tools/bin/call_tool.js', /--include=optional/);
  });
  await report.claim('a_machine_without_executables_is_told_what_there_is', async () => {
    fs.writeFileSync(path.join(project, 'other.cjs'), "Object.defineProperty(process, 'platform', { value: 'freebsd' });\n");
    await says('node -r ./other.cjs node_modules/gemini-tools/bin/get_tools.js', /no executables for freebsd on .*, only for linux-x64, .*cargo install/);
  });
}

export async function checkNpx(job) {
  const { report, table } = job;
  const room = await npmRoom(job, 'npx');
  const kept = path.join(room.home, '.local', 'share', 'gemini-tools', 'bin');
  // Without a terminal no user can be asked.
  await isSetUp(report, room, `${table.get('npx, for one project')} --yes --trust`);
  await report.claim('npx_starts_the_server', async () => {
    assert.match(await ok(room, 'npx gemini-tools serve --version'), /^serve_tools \d/);
  });
  await report.claim('npx_names_a_copy_that_outlives_its_cache', async () => {
    fs.rmSync(path.join(room.home, '.npm'), { recursive: true });
    for (const command of Object.values(commands(room))) assert.equal(path.dirname(command), kept);
  });
  addToPath(room, kept);
  await works(report, room);
  await report.claim('npx_brings_the_copy_up_to_date', async () => {
    const file = path.join(kept, 'call_tool');
    fs.writeFileSync(file, 'old');
    await ok(room, `${table.get('npx, for one project')} --yes --trust`);
    assert.ok(fs.statSync(file).size > 1000);
    assert.deepEqual(fs.readdirSync(kept).sort(), ['call_tool', 'get_tools', 'run_agent', 'serve_tools']);
  });
}
