// Owns the claims about what lists a release elsewhere: each file is valid by its published schema or by the program
// that reads it, has the checksums of the packages, and what it starts answers. A program that is not installed costs
// its claim only: ruby, makepkg with bsdtar, nix-instantiate, and claude.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { makeRoom, ok, sh, which } from './room.mjs';

const INITIALIZE = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'ship', version: '1' } } };

function has(program) {
  try {
    return which(program) !== '';
  } catch {
    return false;
  }
}

function sha256(file) {
  return crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

/** Runs Python with what pip has put into a directory; gives what it prints. */
function python(library, args) {
  return execFileSync('python3', args, { env: { ...process.env, PYTHONPATH: library, PYTHONDONTWRITEBYTECODE: '1' }, encoding: 'utf8' });
}

/** A linter that has the published schemas; throws where it finds a fault. */
function lint(...args) {
  try {
    return python(process.env.GEMINI_TOOLS_SKILLSAW, ['-m', 'skillsaw', 'lint', '--strict', '--no-custom-rules', '--no-plugins', '--no-progress', ...args]);
  } catch (error) {
    throw new Error(error.stdout || error.message);
  }
}

function unpack(archive, directory) {
  fs.mkdirSync(directory, { recursive: true });
  execFileSync('tar', ['-xzf', archive, '-C', directory]);
}

export async function checkListings(job) {
  const { report, base, find, files, checkout } = job;
  const packages = path.dirname(find(/^server\.json$/));
  const work = path.join(base, 'listings');
  fs.mkdirSync(work);
  await checkSums(report, packages, files);
  await checkRegistry(report, work, find);
  await checkPlugin(report, work, find);
  await checkGithub(report, work, packages, checkout);
  await checkBundle(report, work, base, find);
  await checkBill(report, find);
  await checkFormula(report, work, packages);
  await checkArchLinux(report, work, packages, find);
  await checkOthers(report, packages);
}

/** Every checksum of a listing is that of the package whose address is before it. */
async function checkSums(report, packages, files) {
  const digest = /([0-9a-f]{64})|sha256-([A-Za-z0-9+/=]{44})/g;
  await report.claim('checksums_in_listings_are_those_of_the_packages', () => {
    for (const name of ['server.json', 'gemini-tools.rb', 'flake.nix', 'mise.toml']) {
      const text = fs.readFileSync(path.join(packages, name), 'utf8');
      const said = [...text.matchAll(digest)];
      assert.ok(said.length > 0, `${name} has no checksum`);
      for (const match of said) {
        const url = text.slice(0, match.index).match(/https:\/\/[^"]+\/download\/[^"]+/g).at(-1);
        const file = path.basename(url);
        assert.ok(files.includes(file), `${name} names ${file}`);
        assert.equal(match[1] ?? Buffer.from(match[2], 'base64').toString('hex'), sha256(path.join(packages, file)), `${name}: ${file}`);
      }
    }
  });
}

/** The entry of the MCP Registry, and what npm and PyPI must say for it. */
async function checkRegistry(report, work, find) {
  const entry = find(/^server\.json$/);
  const name = JSON.parse(fs.readFileSync(entry, 'utf8')).name;
  const package_ = path.join(work, 'npm');
  unpack(find(/^gemini-tools-[\d.]+\.tgz$/), package_);
  fs.copyFileSync(entry, path.join(package_, 'package', 'server.json'));
  await report.claim('the_entry_of_the_mcp_registry_is_valid_and_has_the_name_of_the_npm_package', () => {
    lint('--rule', 'mcp-registry-server-json-valid', '--rule', 'mcp-registry-version-semver', '--rule', 'mcp-registry-npm-name-match', path.join(package_, 'package'));
    assert.equal(JSON.parse(fs.readFileSync(path.join(package_, 'package', 'package.json'), 'utf8')).mcpName, name);
  });
  await report.claim('a_wrong_entry_of_the_mcp_registry_is_noticed', () => {
    const wrong = path.join(work, 'wrong');
    fs.cpSync(path.join(package_, 'package'), wrong, { recursive: true });
    fs.writeFileSync(path.join(wrong, 'server.json'), fs.readFileSync(entry, 'utf8').replace('"registryType": "npm",', ''));
    assert.throws(() => lint('--rule', 'mcp-registry-server-json-valid', wrong));
  });
  await report.claim('the_wheel_has_the_name_in_the_mcp_registry', () => {
    const wheel = find(new RegExp(`_${{ x64: 'x86_64', arm64: 'aarch64' }[process.arch]}[\\w.]*\\.whl$`));
    const read = 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print([z.read(n).decode() for n in z.namelist() if n.endswith("METADATA")][0])';
    assert.ok(python('', ['-c', read, wheel]).includes(`<!-- mcp-name: ${name} -->`));
  });
}

/** A release comes from GitHub; these packages may name another place. */
async function checkGithub(report, work, packages, checkout) {
  const directory = path.join(work, 'github');
  fs.mkdirSync(directory);
  const names = fs.readdirSync(packages).filter((name) => /\.(mcpb|gz)$/.test(name));
  for (const name of names) fs.symlinkSync(path.join(packages, name), path.join(directory, name));
  for (const name of names.filter((one) => /^gemini-tools-(claude|aur)-/.test(one))) fs.rmSync(path.join(directory, name));
  await report.claim('the_entry_of_a_release_on_github_is_valid', () => {
    const version = JSON.parse(fs.readFileSync(path.join(packages, 'server.json'), 'utf8')).version;
    const options = ['--packages', directory, '--checkout', checkout, '--version', version, '--repository', 'https://github.com/owner/gemini-tools'];
    execFileSync('python3', ['-B', path.join(checkout, 'scripts/package.d/listings.py'), ...options], { env: { ...process.env, SOURCE_DATE_EPOCH: '0' }, stdio: 'pipe' });
    lint('--rule', 'mcp-registry-server-json-valid', directory);
    const entry = JSON.parse(fs.readFileSync(path.join(directory, 'server.json'), 'utf8'));
    assert.equal(entry.name, 'io.github.owner/gemini-tools');
    assert.equal(entry.repository.url, 'https://github.com/owner/gemini-tools');
  });
}

/** The plugin by the same linter, and in an empty home by Claude Code itself. */
async function checkPlugin(report, work, find) {
  unpack(find(/^gemini-tools-claude-[\d.]+\.tar\.gz$/), work);
  const plugin = path.join(work, 'gemini-tools-claude');
  await report.claim('the_plugin_and_its_marketplace_are_valid', () => lint(plugin));
  if (!has('claude')) return report.info('claude is not installed: the plugin was not installed');
  const home = path.join(work, 'claude home');
  fs.mkdirSync(home);
  const claude = (...args) => execFileSync('claude', ['plugin', ...args], { cwd: home, env: { PATH: process.env.PATH, HOME: home }, encoding: 'utf8' });
  await report.claim('claude_code_installs_the_plugin', () => {
    claude('validate', '--strict', plugin);
    claude('marketplace', 'add', plugin);
    claude('install', 'gemini-tools@gemini-tools');
    assert.match(claude('list'), /gemini-tools@gemini-tools/);
  });
}

async function checkBundle(report, work, base, find) {
  const bundle = find(new RegExp(`-linux-${process.arch}\\.mcpb$`));
  const mcpb = path.join(process.env.GEMINI_TOOLS_MCPB, 'node_modules', '.bin', 'mcpb');
  const directory = path.join(work, 'bundle');
  const isValid = await report.claim('the_bundle_of_the_mcp_server_is_valid', () => {
    execFileSync(mcpb, ['unpack', bundle, directory], { stdio: 'pipe' });
    execFileSync(mcpb, ['validate', path.join(directory, 'manifest.json')], { stdio: 'pipe' });
  });
  if (!isValid) return;
  await report.claim('the_server_of_the_bundle_answers', async () => {
    const room = makeRoom(base, 'bundle');
    const { command, args } = JSON.parse(fs.readFileSync(path.join(directory, 'manifest.json'), 'utf8')).server.mcp_config;
    const filled = [command, ...args].map((word) => word.replace('${__dirname}', directory).replace('${user_config.directory}', room.project));
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'read_file', arguments: { absolute_path: 'notes.txt' } } };
    const input = [INITIALIZE, { jsonrpc: '2.0', method: 'notifications/initialized' }, call].map((message) => `${JSON.stringify(message)}\n`).join('');
    const said = await ok(room, filled.map((word) => `'${word}'`).join(' '), { input });
    assert.match(said, /from the room/);
  });
}

async function checkBill(report, find) {
  const bill = find(new RegExp(`-${{ x64: 'x86_64', arm64: 'aarch64' }[process.arch]}-linux\\.cdx\\.json$`));
  await report.claim('the_bill_of_materials_is_valid_and_has_what_is_linked', () => {
    const check = [
      'import sys',
      'from cyclonedx.schema import SchemaVersion',
      'from cyclonedx.validation.json import JsonStrictValidator',
      'fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())',
      'sys.exit(str(fault) if fault else 0)',
    ];
    python(process.env.GEMINI_TOOLS_CYCLONEDX, ['-c', check.join('\n'), bill]);
    const { components, dependencies } = JSON.parse(fs.readFileSync(bill, 'utf8'));
    const others = components.filter((one) => !one.name.startsWith('gemini-tools'));
    assert.ok(others.some((one) => one.name === 'serde_json'));
    assert.deepEqual(others.filter((one) => !one.hashes || one.licenses.length === 0).map((one) => one.name), [], 'without a checksum or a licence');
    const known = new Set(dependencies.map((one) => one.ref));
    assert.deepEqual(dependencies.flatMap((one) => one.dependsOn).filter((ref) => !known.has(ref)), []);
  });
}

/** Ruby reads the formula, with Homebrew's words as methods that say what they were called with. */
async function checkFormula(report, work, packages) {
  if (!has('ruby')) return report.info('ruby is not installed: the formula was not read');
  const stub = `
    class Formula
      def self.method_missing(name, *words, &block)
        puts "#{name} #{words.join(' ')}"
        yield if block && %i[on_macos on_linux on_arm on_intel].include?(name)
      end

      # Ruby has one of its own.
      def self.test(&block) = method_missing(:test, &block)
    end
    load ARGV[0]`;
  await report.claim('the_formula_is_ruby_and_names_each_archive', () => {
    const said = execFileSync('ruby', ['-e', stub, path.join(packages, 'gemini-tools.rb')], { encoding: 'utf8' });
    assert.match(said, /^on_linux \non_\w+ \nurl https:.*-linux\.tar\.gz\nsha256 [0-9a-f]{64}$/m);
    assert.match(said, /^test $/m);
  });
}

/** makepkg builds the package of the archive, which is beside the PKGBUILD, so that nothing is downloaded. */
async function checkArchLinux(report, work, packages, find) {
  unpack(find(/^gemini-tools-aur-[\d.]+\.tar\.gz$/), work);
  const directory = path.join(work, 'gemini-tools-bin');
  await report.claim('the_pkgbuild_is_bash', () => execFileSync('bash', ['-n', path.join(directory, 'PKGBUILD')]));
  if (!has('makepkg') || !has('bsdtar')) return report.info('makepkg or bsdtar is not installed: the PKGBUILD was not run');
  // makepkg wants pacman to be there, and no root.
  const bin = path.join(work, 'pacman');
  fs.mkdirSync(bin);
  fs.writeFileSync(path.join(bin, 'pacman'), '#!/bin/sh\n', { mode: 0o755 });
  const machine = { x64: 'x86_64', arm64: 'aarch64' }[process.arch];
  for (const name of fs.readdirSync(packages).filter((file) => file.endsWith(`-${machine}-linux.tar.gz`))) fs.copyFileSync(path.join(packages, name), path.join(directory, name));
  const room = makeRoom(path.dirname(work), 'arch');
  const isRoot = process.getuid() === 0;
  if (isRoot) execFileSync('chown', ['-R', '65534:65534', directory]);
  if (isRoot) room.wrapper = [which('setpriv'), '--reuid', '65534', '--regid', '65534', '--clear-groups'];
  const variables = { PATH: `${bin}:${process.env.PATH}`, HOME: directory, TMPDIR: directory };
  for (let above = work; above !== path.dirname(above) && isRoot; above = path.dirname(above)) fs.chmodSync(above, fs.statSync(above).mode | 0o011);
  await report.claim('srcinfo_is_what_makepkg_prints', async () => {
    assert.equal(await ok(room, 'makepkg --printsrcinfo', { cwd: directory, variables }), fs.readFileSync(path.join(directory, '.SRCINFO'), 'utf8'));
  });
  await report.claim('makepkg_makes_a_package_with_the_executables', async () => {
    const made = await sh(room, 'makepkg --nodeps --nocheck', { cwd: directory, variables });
    assert.equal(made.status, 0, made.stdout + made.stderr);
    const name = fs.readdirSync(directory).find((file) => /\.pkg\.tar/.test(file));
    const list = execFileSync('bsdtar', ['-tf', path.join(directory, name)], { encoding: 'utf8' });
    for (const file of ['usr/bin/serve_tools', 'usr/share/man/man1/get_tools.1.gz', 'usr/share/doc/gemini-tools/LICENSE-MIT']) assert.ok(list.includes(`${file}\n`), file);
  });
}

async function checkOthers(report, packages) {
  await report.claim('the_entry_for_mise_is_toml_with_a_platform', () => {
    const read = "import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], 'rb'))))";
    const { tools } = JSON.parse(python('', ['-c', read, path.join(packages, 'mise.toml')]));
    assert.ok(tools['http:gemini-tools'].platforms[`linux-${process.arch}`].url.startsWith('https://'));
  });
  if (!has('nix-instantiate')) return report.info('nix-instantiate is not installed: the flake was not read');
  await report.claim('the_flake_has_a_package_for_this_system', () => {
    const flake = path.join(packages, 'flake.nix');
    // In the place of nixpkgs: what is asked of it is given back.
    const packagesOf = 'stdenvNoCC.mkDerivation = x: x; fetchurl = x: x; lib.licenses = { mit = 1; asl20 = 2; }; lib.sourceTypes.binaryNativeCode = 3;';
    const systems = ['x86_64-linux', 'aarch64-linux', 'x86_64-darwin', 'aarch64-darwin'];
    const nixpkgs = `{ legacyPackages = { ${systems.map((system) => `${system} = { ${packagesOf} };`).join(' ')} }; }`;
    const system = { x64: 'x86_64-linux', arm64: 'aarch64-linux' }[process.arch];
    const expression = `let f = import ${flake}; o = f.outputs { self = o; nixpkgs = ${nixpkgs}; }; in o.packages.${system}.default`;
    const said = execFileSync('nix-instantiate', ['--eval', '--strict', '--json', '--store', 'dummy://', '-E', expression], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    const made = JSON.parse(said);
    assert.equal(made.pname, 'gemini-tools');
    assert.match(made.src.hash, /^sha256-/);
  });
}
