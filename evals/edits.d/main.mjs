// Owns the command line of evals/edits.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { KINDS } from './generate.mjs';
import { measure, measureAgain } from './measure.mjs';
import { measureMisses } from './misses.mjs';
import { getPackages, readPackages } from './packages.mjs';
import { comparePeers, OUR_NAMES, PEER_NAMES } from './peers.mjs';
import { writeSample } from './sample.mjs';
import { UsageError } from './usage.mjs';

const at = (file) => fileURLToPath(new URL(file, import.meta.url));
const CALL_TOOL = at('../../target/debug/call_tool');

const USAGE = `Usage: evals/edits [--call-tool PATH] [--seed N]... [--packages FILE]
                   [--per-package N] [--kind K]... [--wrong FILE] [--json FILE]
       evals/edits --misses [--call-tool PATH] [--seed N]... [--packages FILE]
                   [--count N] [--json FILE]
       evals/edits --peers [--call-tool PATH] [--kind K]... [--tool T]...
                   [--cases FILE] [--json FILE]

Has smart_edit make real changes, those between two published versions of
packages, from texts that are disturbed as language models miss, and counts what
came of each kind: right, refused, wrong. The exit status is 1 if one was wrong.

  --call-tool PATH  the call command to measure (default: target/debug/call_tool)
  --seed N          chooses the changes and how they are disturbed; may be
                    repeated (default: GEMINI_TOOLS_SEED, else 1, 2 and 3)
  --packages FILE   other packages, a line REGISTRY NAME OLD NEW each, with
                    REGISTRY npm, pypi or crates; or git, a directory and two
                    commits (default: evals/edits.d/packages.txt)
  --per-package N   so many changes of each, with three lines of context and as
                    many with one (default: 6)
  --kind K          only the kinds whose name contains K
  --wrong FILE      writes the wrong cases, the first of each kind with as few
                    lines of the file as show it
  --again FILE      makes only the cases that --wrong wrote to FILE
  --json FILE       writes every outcome as a line
  --kinds           lists the kinds and what a person would want of each
  --write-sample    writes tests/edits/sample.jsonl, two cases of each kind, from
                    tests/edits/sources

--misses quotes fragments of a line, lines and three lines with one to five
letters wrong, and counts how often the answer of replace names the right place,
and how often a second try with the text that it gives succeeds.

  --count N         so many of each sort and seed (default: 300)

--peers compares edit tools on the cases of tests/edits, which tests/edits/README.md
describes: those of the real Gemini CLI, with correction by a model off, and,
with --call-tool, our own.

  --tool T          only the tools whose name contains T, of
                    ${[...PEER_NAMES, ...OUR_NAMES].join(', ')}
  --cases FILE      other cases (default: tests/edits/cases.jsonl)
  --json FILE       writes every outcome as a line, with what the tool said and,
                    where it is wrong, what it left in the file

Packages come by npm, pip and cargo, Gemini CLI by npm. They are kept in
\${GEMINI_TOOLS_CACHE:-\${XDG_CACHE_HOME:-~/.cache}/gemini-tools}.
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      'call-tool': { type: 'string' },
      seed: { type: 'string', multiple: true },
      packages: { type: 'string', default: at('packages.txt') },
      'per-package': { type: 'string', default: '6' },
      kind: { type: 'string', multiple: true, default: [] },
      wrong: { type: 'string' },
      json: { type: 'string' },
      kinds: { type: 'boolean' },
      'write-sample': { type: 'boolean' },
      again: { type: 'string' },
      misses: { type: 'boolean' },
      count: { type: 'string', default: '300' },
      peers: { type: 'boolean' },
      tool: { type: 'string', multiple: true, default: [] },
      cases: { type: 'string', default: at('../../tests/edits/cases.jsonl') },
      help: { type: 'boolean', short: 'h' },
    },
  });
  return values;
}

function seedsOf({ seed }) {
  return seed ?? (process.env.GEMINI_TOOLS_SEED ? [process.env.GEMINI_TOOLS_SEED] : ['1', '2', '3']);
}

function positive(options, name) {
  const number = Number(options[name]);
  if (!Number.isInteger(number) || number < 1) throw new UsageError(`--${name} takes a number from 1, not ${options[name]}`);
  return number;
}

/** What both measures of our tools take. */
function commonOptions(options) {
  const callTool = path.resolve(options['call-tool'] ?? CALL_TOOL);
  if (!fs.existsSync(callTool)) throw new UsageError(`there is no ${callTool}; build it: cargo build --bin call_tool`);
  const unknown = options.kind.find((part) => !KINDS.some(({ name }) => name.includes(part)));
  if (unknown !== undefined) throw new UsageError(`there is no kind ${unknown}; --kinds lists them`);
  return { callTool, seeds: seedsOf(options), jsonFile: options.json };
}

async function main() {
  const options = readOptions();
  if (options.help) return process.stdout.write(USAGE);
  if (options.kinds) return process.stdout.write(KINDS.map(({ name, mark }) => `${mark.padEnd(6)}  ${name}\n`).join(''));
  if (options['write-sample']) return writeSample(at('../../tests/edits/sources'), at('../../tests/edits/sample.jsonl'));
  if (options.peers) return comparePeers(options);
  const common = commonOptions(options);
  const packages = async () => getPackages(readPackages(options.packages));
  if (options.misses) return measureMisses({ ...common, packages: await packages(), count: positive(options, 'count') });
  const perPackage = positive(options, 'per-package');
  const wrong = options.again
    ? await measureAgain({ ...common, file: options.again })
    : await measure({ ...common, packages: await packages(), perPackage, kinds: options.kind, wrongFile: options.wrong });
  process.exitCode = wrong > 0 ? 1 : 0;
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof UsageError || error.code?.startsWith('ERR_PARSE_ARGS');
  console.error(`evals/edits: ${isUsage ? error.message : (error.stack ?? error)}`);
  process.exitCode = 2;
}
