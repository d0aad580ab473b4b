// Owns the command line of evals/syntax, its cases, and the table.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { ending, run } from '../../scripts/e2e.d/child.mjs';
import { getPackages, readPackages } from '../edits.d/packages.mjs';
import { Chance } from '../edits.d/random.mjs';
import { broken, ENDS } from './mutations.mjs';
import { measureQuestions } from './questions.mjs';

const at = (file) => fileURLToPath(new URL(file, import.meta.url));
const BATCH_LIMIT_MS = 30 * 60_000;
const CASES_PER_RUN = 100;
const OTHER_ENDS = { cxx: 'cc', cpp: 'cc', hpp: 'h', mjs: 'js', cjs: 'js', jsx: 'js', pyi: 'py', yaml: 'yml', bash: 'sh', htm: 'html' };

const USAGE = `Usage: evals/syntax [--call-tool PATH] [--seed N] [--packages FILE] [--json FILE]
       evals/syntax --questions [--call-tool PATH]

Has write_file make changes of files of published packages, and counts what its
answers say of their syntax: of 1,000 files broken in one place, of 2,000 changes
between two versions, and of 200 files that did not parse before.

  --call-tool PATH  the call command (default: target/debug/call_tool)
  --seed N          chooses files and places (default: 1)
  --packages FILE   other packages, as those of evals/edits
  --json FILE       writes every case that was judged wrongly as a line
  --questions       finds 26 functions and reads them, by calls that are always
                    the same, and counts the tokens of the answers
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      'call-tool': { type: 'string', default: at('../../target/debug/call_tool') },
      seed: { type: 'string', default: '1' },
      packages: { type: 'string', default: at('packages.txt') },
      json: { type: 'string' },
      questions: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  return values;
}

function endOf(file) {
  const end = path.extname(file).slice(1);
  return OTHER_ENDS[end] ?? end;
}

/** The files of a package, as they were and as they are, by their names. */
function filesOf({ directories: [older, newer] }) {
  const names = fs.readdirSync(older, { recursive: true }).filter((name) => ENDS.includes(endOf(name))).sort();
  const read = (directory, name) => {
    const file = path.join(directory, name);
    return fs.existsSync(file) && fs.lstatSync(file).isFile() ? fs.readFileSync(file, 'utf8') : null;
  };
  const files = names.map((name) => ({ name, old: read(older, name), text: read(newer, name) }));
  return files.filter(({ old }) => old !== null && !old.includes('\ufffd'));
}

/** Has write_file put `text` in the place of `old` in every case, and returns the lines that were named. */
async function judge(callTool, cases) {
  const named = [];
  for (let i = 0; i < cases.length; i += CASES_PER_RUN) named.push(...await judgeSome(callTool, cases.slice(i, i + CASES_PER_RUN)));
  return named;
}

async function judgeSome(callTool, cases) {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'gemini-tools-syntax-'));
  try {
    const project = path.join(base, 'project');
    const home = path.join(base, 'home');
    fs.mkdirSync(home);
    const calls = cases.map(({ name, old, text }, i) => {
      const file = path.join(String(i), path.basename(name));
      fs.mkdirSync(path.join(project, String(i)), { recursive: true });
      fs.writeFileSync(path.join(project, file), old);
      return JSON.stringify({ id: i, name: 'write_file', args: { file_path: file, content: text } });
    });
    const env = { PATH: process.env.PATH, HOME: home };
    const input = `${calls.join('\n')}\n`;
    const answer = await run(callTool, ['--batch'], { cwd: project, env, input, limitMs: BATCH_LIMIT_MS });
    const lines = answer.stdout.split('\n').filter(Boolean);
    // A text with what is taken for a placeholder is not written.
    const isDone = lines.length === cases.length && lines.every((line) => /"output":"Success|has the placeholder/.test(line));
    if (!isDone) throw new Error(`${callTool} ${ending(answer)}: ${answer.stdout.slice(0, 2000)}`);
    return lines.map((line) => [...(line.split('broken the syntax of the file: ')[1] ?? '').matchAll(/line (\d+) `/g)].map((found) => Number(found[1])));
  } finally {
    fs.rmSync(base, { recursive: true, force: true });
  }
}

/** Those of the Python cases that Python itself says are broken now, and were not before; all others. */
async function thatBreak(cases) {
  const program = 'import ast,json,sys\ndef ok(t):\n try: ast.parse(t); return True\n except Exception: return False\n'
    + 'for l in sys.stdin:\n o,n=json.loads(l); print(int(ok(o) and not ok(n)))';
  const python = cases.filter(({ name }) => endOf(name) === 'py');
  const input = python.map(({ old, text }) => `${JSON.stringify([old, text])}\n`).join('');
  const answer = await run('python3', ['-W', 'ignore', '-c', program], { cwd: '.', env: process.env, input, limitMs: BATCH_LIMIT_MS });
  const breaks = answer.stdout.trim().split('\n');
  const kept = new Set(python.filter((_, i) => breaks[i] === '1'));
  return cases.filter((one) => endOf(one.name) !== 'py' || kept.has(one));
}

/** Breaks as many files of each language as there are for it, up to `count` in all. */
function mutations(files, count, chance) {
  const byEnd = new Map(ENDS.map((end) => [end, files.filter(({ name }) => endOf(name) === end)]));
  const cases = [];
  for (let round = 0; cases.length < count && round < 100 * count; round += 1) {
    const file = chance.pick(byEnd.get(ENDS[round % ENDS.length]));
    const one = file && file.old.length < 200_000 ? broken(file.old, endOf(file.name), chance) : null;
    if (one) cases.push({ ...one, name: file.name });
  }
  return cases;
}

async function measure(options) {
  const packages = await getPackages(readPackages(options.packages));
  const files = packages.flatMap(filesOf);
  const chance = new Chance(options.seed, 'syntax');
  const wrong = [];
  const isNear = (errors, line) => errors.some((one) => Math.abs(one - line) <= 1);

  const cases = (await thatBreak(mutations(files, 1_200, chance))).slice(0, 1_000);
  const named = await judge(options['call-tool'], cases);
  const counts = {};
  cases.forEach((one, i) => {
    for (const key of [endOf(one.name), one.kind, 'all']) {
      counts[key] ??= [0, 0];
      counts[key][0] += isNear(named[i], one.line) ? 1 : 0;
      counts[key][1] += 1;
    }
    if (!isNear(named[i], one.line)) wrong.push({ sort: 'broken', errors: named[i], ...one });
  });
  for (const [key, [right, all]] of Object.entries(counts)) console.log(`broken  ${key.padEnd(10)} ${right} of ${all} named`);

  const changed = chance.sample(files.filter(({ old, text }) => text !== null && text !== old), 2_000);
  const alarms = await judge(options['call-tool'], changed);
  console.log(`changed ${alarms.filter((errors) => errors.length > 0).length} alarms of ${changed.length}`);
  changed.forEach((one, i) => alarms[i].length > 0 && wrong.push({ sort: 'changed', errors: alarms[i], ...one }));

  // What was broken is broken anew, elsewhere or in a way that is none: only the place of the second change is new.
  const twice = cases.slice(0, 200).map((one) => ({ ...one, old: one.text, text: `${one.text.trimEnd()}\n\n` }));
  const again = await judge(options['call-tool'], twice.filter(({ old, text }) => old !== text));
  console.log(`before  ${again.filter((errors) => errors.length > 0).length} alarms of ${again.length} that did not parse before`);
  if (options.json) fs.writeFileSync(options.json, wrong.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

const options = readOptions();
if (options.help) console.log(USAGE);
else if (options.questions) await measureQuestions(options);
else await measure(options);
