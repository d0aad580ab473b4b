// Owns the claims about the packages for Linux on arm64, which are made on another machine too (`scripts/package
// --target`): that they say what they are, and that they work under QEMU's user emulation where that is installed.
//
// The executables start each other, as `call_tool` starts `serve_tools`, so that the kernel must know who runs them. It is
// told in a user namespace of each command's own (binfmt_misc, from Linux 6.7 on), which needs no root and changes nothing
// on the machine. They see processes of their own only: what an emulator gets wrong of a system call must not reach
// others. What arm64 machines run natively is not taken for emulated.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { addToPath, makeRoom, ok, sh, which } from './room.mjs';
import { installs } from './works.mjs';

const NAMES = ['call_tool', 'get_tools', 'run_agent', 'serve_tools'];
const ARCHIVE = /^gemini-tools-[\d.]+-aarch64-linux\.tar\.gz$/;
// Where Debian's packages for cross-compiling have the C library; executables that are linked to musl need none.
const C_LIBRARY = '/usr/aarch64-linux-gnu';
// The machine of an ELF header, AArch64, and where that is.
const AARCH64 = 183;
const MACHINE_OFFSET = 18;
// How binfmt_misc knows it: the first 20 bytes of an executable, and which of their bits count.
const MAGIC = '\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00';
const MASK = '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff';

export async function checkArm64({ report, base, files, find, table }) {
  if (!files.some((name) => ARCHIVE.test(name))) {
    report.info('left out: there is no package for it; scripts/package --target aarch64-unknown-linux-gnu makes them');
    return;
  }
  await checkFields(report, base, find);
  const emulator = emulation(path.join(base, 'arm64'), find(ARCHIVE));
  if (emulator.missing) {
    report.info(`nothing was run: ${emulator.missing}`);
    return;
  }
  report.info(emulator.title);
  const room = makeRoom(base, 'arm64 room', { tools: ['tar', 'gzip'], variables: emulator.variables });
  room.wrapper = emulator.wrapper;
  fs.copyFileSync(find(ARCHIVE), path.join(room.downloads, path.basename(find(ARCHIVE))));
  fs.mkdirSync(path.join(room.home, '.local'));
  const command = table.get('no package manager');
  if (!(await installs(report, room, command, { cwd: room.downloads, after: () => addToPath(room, path.join(room.home, '.local', 'bin')) }))) return;
  await checkCalls(report, room, emulator.wrapper.length > 0);
}

/** Unpacks each package, and compares what it says of itself with what is in it. */
async function checkFields(report, base, find) {
  const unpack = (name, tool, ...args) => {
    const directory = path.join(base, 'arm64', name);
    fs.mkdirSync(directory, { recursive: true });
    execFileSync(tool, [...args, directory]);
    return directory;
  };
  const untar = (name, file) => unpack(name, 'tar', '-xzf', file, '-C');
  const unzip = (name, file) => unpack(name, 'python3', '-m', 'zipfile', '-e', file);
  const deb = find(/_arm64\.deb$/);
  const wheel = find(/_aarch64.*\.whl$/);
  const trees = {};
  await report.claim('the_npm_package_is_for_linux_on_arm64', () => {
    trees.npm = path.join(untar('npm', find(/^gemini-tools-linux-arm64-[\d.]+\.tgz$/)), 'package', 'bin');
    const { name, os, cpu } = JSON.parse(fs.readFileSync(path.join(trees.npm, '..', 'package.json'), 'utf8'));
    assert.deepEqual({ name, os, cpu }, { name: '@gemini-tools/linux-arm64', os: ['linux'], cpu: ['arm64'] });
  });
  await report.claim('the_wheel_has_tags_of_linux_on_arm64_only', () => {
    const directory = unzip('wheel', wheel);
    const [stem] = fs.readdirSync(directory).filter((name) => name.endsWith('.dist-info'));
    const tags = fs.readFileSync(path.join(directory, stem, 'WHEEL'), 'utf8').match(/^Tag: .*$/gm);
    assert.ok(tags.length > 0 && tags.every((tag) => /^Tag: py3-none-\w*linux\w*_aarch64$/.test(tag)), tags.join(', '));
    trees.wheel = path.join(directory, stem.replace('.dist-info', '.data'), 'scripts');
  });
  await report.claim('the_debian_package_is_for_arm64', () => {
    assert.equal(execFileSync('dpkg-deb', ['-f', deb, 'Architecture'], { encoding: 'utf8' }).trim(), 'arm64');
    trees.deb = path.join(unpack('deb', 'dpkg-deb', '-x', deb), 'usr', 'bin');
  });
  await report.claim('the_extension_is_for_linux_on_arm64', () => {
    trees.extension = path.join(untar('extension', find(/^linux\.arm64\.gemini-tools\.tar\.gz$/)), 'bin');
  });
  await report.claim('all_of_them_have_the_same_executables_for_arm64', () => {
    const archive = untar('archive', find(ARCHIVE));
    trees.archive = path.join(archive, fs.readdirSync(archive)[0], 'bin');
    for (const name of NAMES) {
      const sums = Object.entries(trees).map(([of, bin]) => {
        const data = fs.readFileSync(path.join(bin, name));
        assert.equal(data.readUInt16LE(MACHINE_OFFSET), AARCH64, `${name} of the ${of} is for another machine`);
        return createHash('sha256').update(data).digest('hex');
      });
      assert.equal(new Set(sums).size, 1, `${name} differs between ${Object.keys(trees).join(', ')}`);
    }
  });
}

/** How executables for arm64 are run here: a program that stands before each command, or why there is none. */
function emulation(directory, archive) {
  fs.mkdirSync(directory, { recursive: true });
  const unpacked = path.join(directory, 'tried');
  fs.mkdirSync(unpacked);
  execFileSync('tar', ['-xzf', archive, '-C', unpacked, '--strip-components=1']);
  const probe = path.join(unpacked, 'bin', 'get_tools');
  const variables = fs.existsSync(C_LIBRARY) ? { QEMU_LD_PREFIX: C_LIBRARY } : {};
  const runs = (wrapper) => {
    try {
      execFileSync([...wrapper, probe][0], [...wrapper, probe, '--version'].slice(1), { stdio: 'pipe', env: { ...process.env, ...variables } });
      return undefined;
    } catch (error) {
      return `${error.stderr || error.message}`.trim();
    }
  };
  // An arm64 machine, or one whose kernel knows an emulator already.
  if (runs([]) === undefined) return { wrapper: [], variables, title: 'this machine runs executables for arm64' };
  let qemu;
  try {
    // Of Debian's two packages this one needs no libraries, so that the kernel can open it once for all roots.
    qemu = which('qemu-aarch64-static');
  } catch {
    return { missing: 'qemu-aarch64-static was not found (apt-get install qemu-user-static)' };
  }
  const script = path.join(directory, 'emulated');
  const handler = `:qemu-aarch64:M::${MAGIC}:${MASK}:${qemu}:F`;
  fs.writeFileSync(script, `${which('mount')} -t binfmt_misc none /proc/sys/fs/binfmt_misc && printf %s '${handler}' >/proc/sys/fs/binfmt_misc/register && exec "$@"\n`);
  const wrapper = [which('unshare'), '--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc', '/bin/sh', script];
  const why = runs(wrapper);
  if (why !== undefined) return { missing: `the kernel was not told of ${qemu}, for which it needs user namespaces and Linux 6.7: ${why}` };
  const version = execFileSync(qemu, ['--version'], { encoding: 'utf8' }).split('\n')[0];
  return { wrapper, variables, title: `run by ${version}` };
}

async function checkCalls(report, room, isEmulated) {
  const call = async (tool, input, status = 0) => {
    const said = await sh(room, `call_tool ${tool}`, { input: JSON.stringify(input) });
    assert.equal(said.status, status, said.stdout + said.stderr);
    return JSON.parse(said.stdout).functionResponse.response;
  };
  const file = path.join(room.project, 'greeting.txt');
  // The last steps of a write are taken by a process that shares the memory of the call, which QEMU makes two of: the call
  // does not learn there that they were taken.
  const makes = async (content, tool, input) => {
    const said = await sh(room, `call_tool ${tool}`, { input: JSON.stringify({ file_path: file, ...input }) });
    assert.equal(fs.readFileSync(file, 'utf8'), content, said.stdout + said.stderr);
    const { error } = JSON.parse(said.stdout).functionResponse.response;
    if (isEmulated && error) report.info(`${tool} has done its work, and its answer is: ${error}`);
    else assert.equal(said.status, 0, said.stdout + said.stderr);
  };
  await report.claim('a_file_is_written_found_edited_and_read', async () => {
    await makes('Good morning.\nGood bye.\n', 'write_file', { content: 'Good morning.\nGood bye.\n' });
    assert.ok((await call('search_file_content', { pattern: 'MORN.NG' })).output.includes('greeting.txt'));
    await makes('Good evening.\nGood bye.\n', 'smart_edit', { instruction: 'the time of day', old_string: 'Good morning.', new_string: 'Good evening.' });
    assert.ok((await call('read_file', { absolute_path: file })).output.includes('Good evening.'));
  });
  await report.claim('a_command_runs_and_one_that_does_not_end_is_ended', async () => {
    assert.match((await call('run_shell_command', { command: 'echo from a command; exit 7' })).output, /from a command[^]*Exit Code: 7/);
    const ended = await sh(room, 'call_tool run_shell_command', { input: JSON.stringify({ command: 'while :; do :; done', timeout: 2 }) });
    assert.match(ended.stdout, /"errorType":"shell_execute_error"|timeout|2 seconds/);
    assert.deepEqual(ended.leftBehind, []);
  });
  await report.claim('a_path_outside_the_project_is_refused', async () => {
    assert.equal((await call('read_file', { absolute_path: '/etc/hostname' }, 1)).errorType, 'path_not_in_workspace');
  });
  await report.claim('an_mcp_client_is_served', async () => {
    const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'ship', version: '1' } } };
    const ready = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
    const said = await ok(room, 'serve_tools', { input: [hello, ready, list].map((line) => `${JSON.stringify(line)}\n`).join('') });
    const listed = said.trim().split('\n').map((line) => JSON.parse(line)).find((message) => message.id === 2);
    assert.ok(listed.result.tools.some((tool) => tool.name === 'read_file'), said);
  });
  await report.claim('a_sandbox_confines_a_command_or_nothing_is_run', async () => {
    const outside = path.join(room.root, 'outside');
    const said = await sh(room, 'call_tool run_shell_command', {
      input: JSON.stringify({ command: `touch '${outside}'` }),
      variables: { GEMINI_TOOLS_SANDBOX: 'workspace-write' },
    });
    assert.ok(!fs.existsSync(outside), said.stdout + said.stderr);
    const { errorType, error } = JSON.parse(said.stdout).functionResponse.response;
    report.info(`a command in the sandbox: ${errorType ? `${errorType}: ${error}` : 'run and confined'}`);
  });
}
