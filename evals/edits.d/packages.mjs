// Owns the packages whose changes become cases: the list, and getting each version by its registry's ordinary client.

import fs from 'node:fs';
import path from 'node:path';

import { ending, run } from '../../scripts/e2e.d/child.mjs';
import { cacheDirectory } from '../../scripts/e2e.d/host.mjs';

const DOWNLOAD_LIMIT_MS = 10 * 60_000;

/** Larger files, and binary ones, are not kept. */
const FILE_BYTES = 128 * 1024;

const CLIENTS = { npm: fromNpm, pypi: fromPypi, crates: fromCrates, git: fromGit };

/** Reads a list of packages, a line `REGISTRY NAME OLD NEW` each; for git, a directory and two commits. */
export function readPackages(file) {
  const lines = fs.readFileSync(file, 'utf8').split('\n').map((line) => line.replace(/#.*/, '').trim());
  return lines.filter(Boolean).map((line) => {
    const [registry, name, ...versions] = line.split(/\s+/);
    if (!CLIENTS[registry] || versions.length !== 2) throw new Error(`${file}: not REGISTRY NAME OLD NEW: ${line}`);
    return { registry, name, versions, title: `${registry} ${name} ${versions.join(' ')}` };
  });
}

/** The packages with the directories of both versions; what can't be had is named and left out. */
export async function getPackages(packages) {
  const had = [];
  for (const one of packages) {
    try {
      had.push({ ...one, directories: await getPackage(one) });
    } catch (error) {
      console.error(`left out: ${one.title}: ${error.message}`);
    }
  }
  if (had.length === 0) throw new Error('no package to measure with');
  return had;
}

/** Brings both versions of a package into the cache where they are missing, and returns their directories. */
async function getPackage({ registry, name, versions }) {
  const directories = [];
  for (const given of versions) {
    const version = registry === 'git' ? await commitOf(name, given) : given;
    const home = path.join(cacheDirectory(), 'packages', registry, name.replaceAll('/', '+'), version);
    if (!fs.existsSync(home)) await download(CLIENTS[registry], name, version, home);
    directories.push(home);
  }
  return directories;
}

async function download(client, name, version, home) {
  fs.mkdirSync(path.dirname(home), { recursive: true });
  const work = fs.mkdtempSync(path.join(path.dirname(home), '.unfinished-'));
  try {
    const tree = path.join(work, 'tree');
    await client(name, version, work, tree);
    dropUnusable(tree);
    fs.renameSync(tree, home);
  } catch (error) {
    // Another run may have been first; what it brought is as good.
    if (!['ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

async function succeed(program, args, cwd) {
  const result = await run(program, args, { cwd, env: process.env, limitMs: DOWNLOAD_LIMIT_MS });
  if (result.status !== 0) throw new Error(`${program} ${args.join(' ')} ${ending(result)}\n${result.stderr.slice(-2000)}`);
  return result.stdout;
}

/** Unpacks the one archive in `work`, whose files are below one directory. */
async function unpack(work, tree) {
  const archive = fs.readdirSync(work).find((file) => /\.(tgz|tar\.gz|zip)$/.test(file));
  if (!archive) throw new Error(`no archive among ${fs.readdirSync(work).join(', ')}`);
  const out = path.join(work, 'unpacked');
  fs.mkdirSync(out);
  if (archive.endsWith('.zip')) await succeed('python3', ['-m', 'zipfile', '-e', archive, out], work);
  else await succeed('tar', ['xzf', archive, '-C', out, '--no-same-owner', '--no-same-permissions'], work);
  fs.renameSync(path.join(out, fs.readdirSync(out)[0]), tree);
}

async function fromNpm(name, version, work, tree) {
  await succeed('npm', ['pack', '--ignore-scripts', '--loglevel=error', `${name}@${version}`], work);
  await unpack(work, tree);
}

async function fromPypi(name, version, work, tree) {
  const flags = ['--quiet', '--no-deps', '--no-binary', ':all:', '--disable-pip-version-check'];
  await succeed('python3', ['-m', 'pip', 'download', ...flags, `${name}==${version}`], work);
  await unpack(work, tree);
}

/** `cargo metadata` brings the sources of all dependencies of a package, and says where they are. */
async function fromCrates(name, version, work, tree) {
  const exact = `=${version.replace(/\+.*/, '')}`;
  const manifest = `[package]\nname = "scratch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n`;
  fs.mkdirSync(path.join(work, 'src'));
  fs.writeFileSync(path.join(work, 'src', 'lib.rs'), '');
  fs.writeFileSync(path.join(work, 'Cargo.toml'), `${manifest}${name} = { version = "${exact}", default-features = false }\n`);
  // A library is taken as a dependency; of a program, which can't be one, cargo only warns.
  const { packages } = JSON.parse(await succeed('cargo', ['metadata', '--format-version', '1', '--quiet'], work));
  const source = packages.find((one) => one.name === name && one.version === version);
  if (!source) throw new Error(`cargo has no ${name} ${version}, but ${packages.filter((p) => p.name === name).map((p) => p.version)}`);
  fs.cpSync(path.dirname(source.manifest_path), tree, { recursive: true });
}

async function commitOf(directory, revision) {
  return (await succeed('git', ['-C', path.resolve(directory), 'rev-parse', '--verify', `${revision}^{commit}`], '.')).trim();
}

async function fromGit(directory, commit, work, tree) {
  await succeed('git', ['-C', path.resolve(directory), 'archive', '--prefix=tree/', `--output=${path.join(work, 'tree.tar.gz')}`, commit], work);
  await unpack(work, tree);
}

/** Leaves the files that can be cases, so that the cache stays small. */
function dropUnusable(tree) {
  for (const entry of fs.readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isDirectory()) continue;
    const isUsable = entry.isFile() && fs.statSync(file).size <= FILE_BYTES && !fs.readFileSync(file).includes(0);
    if (!isUsable) fs.rmSync(file, { force: true });
  }
}
