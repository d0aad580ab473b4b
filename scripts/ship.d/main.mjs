// Owns the command line, the order of things and the exit status of scripts/ship.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { inOwnDirectory } from '../e2e.d/child.mjs';
import { Report } from '../e2e.d/report.mjs';
import { checkArm64 } from './arm64.mjs';
import { checkExtension } from './extension.mjs';
import { checkHost } from './host.mjs';
import { checkListings } from './listings.mjs';
import { checkNpm, checkNpx } from './npm.mjs';
import { checkArchive, checkDebian, checkWheel } from './others.mjs';
import { installTable } from './table.mjs';

const CHECKS = {
  npx: checkNpx,
  wheel: checkWheel,
  archive: checkArchive,
  deb: checkDebian,
  extension: checkExtension,
  listings: checkListings,
  arm64: checkArm64,
  host: checkHost,
  // Last of those with npm: it publishes a later version.
  npm: checkNpm,
};

const checkout = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        packages: { type: 'string' },
        only: { type: 'string', multiple: true, default: Object.keys(CHECKS) },
        keep: { type: 'boolean', default: false },
      },
    });
    const unknown = values.only.filter((name) => !CHECKS[name]);
    if (unknown.length > 0) throw new Error(`--only does not know ${unknown.join(', ')}`);
    return values;
  } catch (error) {
    process.stderr.write(`scripts/ship: ${error.message}; --help says more\n`);
    return process.exit(2);
  }
}

/** Makes the packages of what scripts/build builds; what it has built already is not built again. */
function makePackages(base) {
  const out = path.join(base, 'packages');
  fs.mkdirSync(out);
  const at = (script, ...args) => execFileSync(path.join(checkout, 'scripts', script), args, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
  at('package', '--from', at('build').trim(), '--out', out, '--fast');
  return out;
}

const options = readOptions();
const report = new Report();
await inOwnDirectory('gemini-tools-ship-', options.keep, async (base) => {
  const packages = options.packages ? path.resolve(options.packages) : makePackages(base);
  const files = fs.readdirSync(packages);
  const find = (pattern) => {
    const found = files.filter((name) => pattern.test(name));
    if (found.length !== 1) throw new Error(`${packages} has ${found.length} files like ${pattern}`);
    return path.join(packages, found[0]);
  };
  const table = installTable(checkout);
  for (const name of new Set(options.only)) {
    report.about(`${name}:`);
    try {
      await CHECKS[name]({ report, base, checkout, find, files, table });
    } catch (error) {
      await report.claim('it_comes_to_its_end', () => Promise.reject(error));
    }
  }
  report.about('');
  report.summary();
});
process.exitCode = report.failed > 0 ? 1 : 0;
