// Owns the command line of evals/policy: which cases the real engine decides, and whether that is what they say.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { install } from '../../scripts/e2e.d/host.mjs';

const VERSION = '0.61.0';
const CASES = fileURLToPath(new URL('../../tests/policy/cases.jsonl', import.meta.url));

const USAGE = `Usage: evals/policy [--only PREFIX] [--cases FILE] [--verbose]

Has the policy engine of Gemini CLI ${VERSION} decide each case of
tests/policy/cases.jsonl. A case expects what both decide, or says in "theirs"
what Gemini CLI decides and in "why" which reason of
docs/compatibility.md that is. Where Gemini CLI has another name for
what is called, "as" has the question in its names. Anything else fails. That
we decide as expected is checked by cargo test.

  --only PREFIX  only the cases whose id begins so
  --cases FILE   other cases
  --verbose      prints each difference that is listed, too

Gemini CLI comes from npm, at first use, and is kept in
\${GEMINI_TOOLS_CACHE:-\${XDG_CACHE_HOME:-~/.cache}/gemini-tools}.
`;

/** What the real engine says to each case, in a process with a home of its own. */
async function decide(cases, scratch) {
  const { entry } = await install(VERSION);
  const directory = entry.slice(0, entry.lastIndexOf(`${path.sep}node_modules${path.sep}@google`));
  const script = fileURLToPath(new URL('engine.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, directory, scratch], {
    cwd: scratch,
    env: { PATH: process.env.PATH, HOME: scratch, TMPDIR: scratch, LANG: 'C.UTF-8', NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const asked = cases.map((entry) => ({ ...entry, ...entry.as }));
  child.stdin.end(asked.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  const said = [];
  for await (const line of readline.createInterface({ input: child.stdout })) said.push(JSON.parse(line));
  if (said.length !== cases.length) throw new Error(`Gemini CLI ended after ${said.length} of ${cases.length} cases`);
  return said;
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      cases: { type: 'string', default: CASES },
      verbose: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return console.log(USAGE);
  const all = fs.readFileSync(values.cases, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  const cases = all.filter(({ id }) => id.startsWith(values.only));
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'gemini-tools-policy-'));
  let wrong = 0;
  try {
    const said = await decide(cases, scratch);
    cases.forEach(({ id, expect, theirs, why }, i) => {
      const decision = said[i].decision ?? 'throws';
      if (decision !== (theirs ?? expect)) {
        wrong += 1;
        console.log(`${id}: Gemini CLI says ${decision}, not ${theirs ?? expect}${said[i].threw ? `: ${said[i].threw}` : ''}`);
      } else if (theirs && values.verbose) {
        console.log(`${id}: ours ${expect}, theirs ${theirs} (${why})`);
      }
    });
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
  const listed = cases.filter(({ theirs }) => theirs).length;
  const renamed = cases.filter((entry) => entry.as).length;
  const alike = `${cases.length - listed} decided alike (${renamed} asked in its names)`;
  console.log(`${cases.length} cases: ${alike}, ${listed} listed differences, ${wrong} unlisted`);
  process.exitCode = wrong > 0 || cases.length === 0 ? 1 : 0;
}

await main();
