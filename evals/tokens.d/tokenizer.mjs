// Owns the tokenizer, which comes from npm at first use.

import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

import { ending, run } from '../../scripts/e2e.d/child.mjs';
import { cacheDirectory } from '../../scripts/e2e.d/host.mjs';

const TOKENIZER = 'gpt-tokenizer@4.0.0';
const INSTALL_LIMIT_MS = 15 * 60_000;

/** The tokenizer's counting function. */
export async function tokenizer() {
  const home = path.join(cacheDirectory(), TOKENIZER.replace('@', '-'));
  if (!fs.existsSync(home)) {
    fs.mkdirSync(path.dirname(home), { recursive: true });
    const unfinished = fs.mkdtempSync(`${home}-`);
    fs.writeFileSync(path.join(unfinished, 'package.json'), '{"private":true}\n');
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const result = await run('npm', ['install', ...flags, TOKENIZER], { cwd: unfinished, env: process.env, limitMs: INSTALL_LIMIT_MS });
    if (result.status !== 0) throw new Error(`npm install ${ending(result)}\n${result.stderr}`);
    fs.renameSync(unfinished, home);
  }
  const { encode } = createRequire(path.join(home, 'package.json'))('gpt-tokenizer/encoding/o200k_base');
  return (text) => encode(text, { disallowedSpecial: new Set() }).length;
}
