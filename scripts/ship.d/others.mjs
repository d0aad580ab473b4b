// Owns what installs without npm: the wheel, the archive and the Debian package.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { addToPath, makeRoom, ok, which } from './room.mjs';
import { installs } from './works.mjs';

/** What kinds of packages call this machine: their directory may have those for others too. */
const MACHINE = { x64: { archive: 'x86_64', wheel: 'x86_64', deb: 'amd64' }, arm64: { archive: 'aarch64', wheel: 'aarch64', deb: 'arm64' } }[process.arch];
const ARCHIVE = new RegExp(`^gemini-tools-[\\d.]+-${MACHINE.archive}-linux\\.tar\\.gz$`);

/** Copies a package to where the user's browser has put it. */
function download(room, file) {
  fs.copyFileSync(file, path.join(room.downloads, path.basename(file)));
}

/** A script in the place of a program of the room's. */
function script(room, name, text) {
  fs.writeFileSync(path.join(room.bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

export async function checkWheel({ report, base, find, table }) {
  const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
  const wheel = find(new RegExp(`_${MACHINE.wheel}[\\w.]*\\.whl$`));
  const variables = { UV_FIND_LINKS: path.dirname(wheel), UV_OFFLINE: '1', UV_NO_CONFIG: '1', UV_PYTHON_DOWNLOADS: 'never', UV_LINK_MODE: 'copy' };
  const uv = path.join(process.env.GEMINI_TOOLS_UV, 'bin');
  const room = makeRoom(base, 'wheel', { tools: ['readlink', ['python3', python], ['uv', path.join(uv, 'uv')], ['uvx', path.join(uv, 'uvx')]], variables });
  await installs(report, room, table.get('uv'), { after: () => addToPath(room, path.join(room.home, '.local', 'bin')) });
  await report.claim('uvx_runs_a_command_of_it', async () => {
    assert.match(await ok(room, 'uvx --from gemini-tools get_tools --format names'), /^read_file$/m);
  });
  await report.claim('uvx_starts_the_server_and_an_installed_command_too', async () => {
    for (const start of ['uvx gemini-tools', 'gemini-tools']) assert.match(await ok(room, `${start} serve --version`), /^serve_tools \d/);
  });
  await report.claim('pip_installs_it_with_its_manual_pages', async () => {
    const prefix = path.join(room.root, 'prefix');
    execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore', '--no-index', '--prefix', prefix, wheel], {
      env: { ...room.environment, PIP_CONFIG_FILE: '/dev/null' },
    });
    assert.match(await ok(room, `'${prefix}/bin/get_tools' --format names`), /^read_file$/m);
    assert.ok(fs.existsSync(path.join(prefix, 'share/man/man1/get_tools.1')));
  });
  await report.claim('pipx_installs_it_and_takes_it_away_again', async () => {
    const pipx = process.env.GEMINI_TOOLS_PIPX;
    const home = path.join(room.root, 'pipx home');
    const environment = {
      ...room.environment,
      HOME: home,
      PYTHONPATH: path.join(pipx, 'lib'),
      PIP_CONFIG_FILE: '/dev/null',
      PIP_NO_INDEX: '1',
      // pip takes a space for the end of a path, but not in the form of an address.
      PIP_FIND_LINKS: [path.dirname(wheel), path.join(pipx, 'wheels')].map((directory) => pathToFileURL(directory).href).join(' '),
    };
    fs.mkdirSync(home);
    execFileSync(python, ['-m', 'pipx', 'install', 'gemini-tools'], { env: environment, stdio: 'pipe' });
    const bin = path.join(home, '.local', 'bin');
    assert.match(await ok(room, `'${bin}/get_tools' --format names`), /^read_file$/m);
    execFileSync(python, ['-m', 'pipx', 'uninstall', 'gemini-tools'], { env: environment, stdio: 'pipe' });
    assert.deepEqual(fs.readdirSync(bin), []);
  });
  await report.claim('uv_takes_it_away_again', async () => {
    await ok(room, 'uv tool uninstall gemini-tools');
    assert.ok(!fs.existsSync(path.join(room.home, '.local/bin/get_tools')));
  });
}

export async function checkArchive({ report, base, checkout, find, table }) {
  const room = makeRoom(base, 'archive', { tools: ['tar', 'gzip'] });
  download(room, find(ARCHIVE));
  // It exists where programs are installed for a user.
  fs.mkdirSync(path.join(room.home, '.local'));
  await installs(report, room, table.get('no package manager'), {
    cwd: room.downloads,
    after: () => addToPath(room, path.join(room.home, '.local', 'bin')),
  });
  await report.claim('scripts_uninstall_takes_it_away_again', () => {
    execFileSync(path.join(checkout, 'scripts/uninstall'), { env: { HOME: room.home, PATH: process.env.PATH } });
    const left = fs.readdirSync(path.join(room.home, '.local'), { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
    assert.deepEqual(left.map((entry) => entry.name), []);
  });
}

export async function checkDebian({ report, base, find, table }) {
  const root = path.join(base, 'debian root');
  for (const directory of ['var/lib/dpkg/info', 'var/lib/dpkg/updates']) fs.mkdirSync(path.join(root, directory), { recursive: true });
  fs.writeFileSync(path.join(root, 'var/lib/dpkg/status'), '');
  const room = makeRoom(base, 'debian', { tools: ['dpkg-deb', 'tar', 'rm', 'dpkg-split', 'uname'] });
  // dpkg is the machine's, and works on the system of the room: without what other packages are there, and without the
  // directories of the machine's administrator, it still unpacks, configures and removes.
  const dpkg = `PATH=${path.dirname(which('dpkg'))}:/usr/sbin:/sbin:/bin exec ${which('dpkg')} --root='${root}' --force-depends --log=/dev/null "$@"`;
  script(room, 'dpkg', process.getuid() === 0 ? dpkg : dpkg.replace('exec ', `exec ${which('unshare')} --map-root-user `));
  script(room, 'sudo', 'exec "$@"');
  download(room, find(new RegExp(`_${MACHINE.deb}\\.deb$`)));
  await installs(report, room, table.get('Debian, Ubuntu'), { cwd: room.downloads, after: () => addToPath(room, path.join(root, 'usr', 'bin')) });
  await report.claim('dpkg_takes_it_away_again', async () => {
    await ok(room, 'sudo dpkg --remove gemini-tools');
    assert.ok(!fs.existsSync(path.join(root, 'usr/bin/get_tools')));
  });
}
