// Owns the command line of evals/patches, and its measure.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { changesOf } from '../edits.d/changes.mjs';
import { disturbed, FAMILIES } from '../edits.d/generate.mjs';
import { judge } from '../edits.d/judge.mjs';
import { inWorkDirectory } from '../edits.d/ours.mjs';
import { getPackages, readPackages } from '../edits.d/packages.mjs';
import { Chance } from '../edits.d/random.mjs';
import { aligned } from '../edits.d/table.mjs';
import { HUNKS } from './hunks.mjs';
import { changedFiles, choose, envelope, envelopeSection, isSame, sectionsOf, treeOf, unifiedPatch, writeVersions } from './trees.mjs';

const at = (file) => fileURLToPath(new URL(file, import.meta.url));

const USAGE = `Usage: evals/patches [--call-tool PATH] [--seed N] [--packages FILE]
                     [--count N] [--wrong DIRECTORY]

Has apply_patch make real changes of several files, those between two versions
of packages, as a unified difference and in the envelope of codex, and compares
the tree with the newer version; then with the texts of one hunk disturbed as
language models miss, where a patch may be refused as a whole. The exit status
is 1 if a tree was neither the wanted one nor as before.

  --call-tool PATH  the call command to measure (default: target/debug/call_tool)
  --seed N          chooses the changes (default: GEMINI_TOOLS_SEED, else 1)
  --packages FILE   other packages, as for evals/edits
  --count N         so many changes in each grammar (default: 300)
  --wrong DIRECTORY keeps the wrong cases there
`;

let calls = 0;

function apply(callTool, work, patch) {
  // Each call is a conversation of its own: the files of the one before were others.
  const session = { GEMINI_TOOLS_SESSION: String(calls++) };
  const env = { PATH: process.env.PATH, HOME: path.join(work, 'home'), LANG: 'C.UTF-8', NO_COLOR: '1', ...session };
  fs.mkdirSync(env.HOME, { recursive: true });
  const input = JSON.stringify({ patch });
  const result = spawnSync(callTool, ['apply_patch'], { cwd: path.join(work, 'tree'), env, input, encoding: 'utf8', maxBuffer: 1 << 28 });
  return JSON.parse(result.stdout).functionResponse.response;
}

/** Puts a fresh tree beside both versions, patches it, and says what became of it. */
function outcomeOf({ callTool, work, patch, accepts }) {
  const tree = path.join(work, 'tree');
  fs.rmSync(tree, { recursive: true, force: true });
  fs.cpSync(path.join(work, 'before'), tree, { recursive: true });
  const said = apply(callTool, work, patch);
  const now = treeOf(tree);
  const before = treeOf(path.join(work, 'before'));
  if (isSame(now, before)) return { outcome: 'refused', said };
  return { outcome: accepts(now) ? 'right' : 'wrong', said };
}

class Counts {
  constructor() {
    this.rows = new Map();
  }

  add(title, outcome) {
    const row = this.rows.get(title) ?? { n: 0, right: 0, refused: 0, literal: 0, wrong: 0 };
    row.n++;
    row[outcome]++;
    this.rows.set(title, row);
  }

  get wrong() {
    return [...this.rows.values()].reduce((sum, row) => sum + row.wrong, 0);
  }

  toString() {
    const names = ['n', 'right', 'refused', 'literal', 'wrong'];
    return aligned([['', ...names], ...[...this.rows].map(([title, row]) => [title, ...names.map((name) => String(row[name]))])]);
  }
}

/** Makes `count` changes in each grammar, as they are. */
function measureExact(run, counts) {
  const { chance, files, packages, work, count } = run;
  let [unified, wrapped] = [0, 0];
  while (unified < count || wrapped < count) {
    const one = chance.pick(packages);
    const names = choose(files.get(one), chance);
    if (names.length < 2) continue;
    fs.rmSync(work, { recursive: true, force: true });
    writeVersions(one.directories, names, work, chance);
    const after = treeOf(path.join(work, 'after'));
    const accepts = (now) => isSame(now, after);
    const patch = Buffer.from(unifiedPatch(work), 'latin1').toString();
    const sections = sectionsOf(unifiedPatch(work));
    if (sections.length < 2) continue;
    if (unified < count) {
      unified++;
      record(run, counts, 'as it is, unified', patch, outcomeOf({ ...run, patch, accepts }));
    }
    const parts = sections.map((section) => envelopeSection(section, path.join(work, 'before')));
    if (wrapped < count && parts.every((part) => part !== null)) {
      wrapped++;
      const patch = Buffer.from(envelope(parts), 'latin1').toString();
      record(run, counts, 'as it is, in the envelope', patch, outcomeOf({ ...run, patch, accepts }));
    }
  }
}

/** What a patch can't say, as its hunks have whole lines: one that ends within a line end, or is a part of another. */
const NO_PATCH = ['CRLF file, old ends in CR', 'the end of another line, from within a word'];

/** The rows of a hunk that makes one text of another: those of the change, where they say the same. */
function rowsOf({ old, new: fresh, change }) {
  const row = ({ kind, old, new: added }) => kind + (old ?? added).replace(/\r$/, '');
  const text = (side) => change.rows.filter((row) => row[side] !== null).map((row) => `${row[side].replace(/\r$/, '')}\n`).join('');
  if (text('old') === old && text('new') === fresh) return change.rows.map(row);
  const lines = (text) => text.replace(/\n$/, '').split('\n');
  const [a, b] = [lines(old), fresh === '' ? [] : lines(fresh)];
  const best = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  const rows = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) rows.push(` ${a[i++]}`, ...(j++ < 0 ? [] : []));
    else if (j >= b.length || (i < a.length && best[i + 1][j] >= best[i][j + 1])) rows.push(`-${a[i++]}`);
    else rows.push(`+${b[j++]}`);
  }
  return rows;
}

/** Disturbs one hunk in every way that fits it, beside the change of another file that is as it is. */
async function measureDisturbed(run, counts) {
  const { chance, packages, work, count, seed } = run;
  for (const one of packages) {
    for (const family of FAMILIES) {
      const wanted = { context: family.context, count: Math.ceil(count / packages.length / 2), chance };
      for (const change of await changesOf(one.title, one.directories, wanted)) {
        for (const kind of family.kinds) {
          const made = disturbed(change, kind, seed);
          if (made && !NO_PATCH.includes(kind.name)) disturb(run, counts, made);
        }
        for (const made of HUNKS.map((make) => make(change, chance))) {
          if (made) disturb(run, counts, made);
        }
      }
    }
  }
}

function disturb(run, counts, made) {
  const { work } = run;
  fs.rmSync(work, { recursive: true, force: true });
  const name = `file${made.extension || '.txt'}`;
  const [other, fresh] = ['one\ntwo\nthree\n', 'one\nTWO\nthree\n'];
  const write = (side, texts) => {
    fs.mkdirSync(path.join(work, side), { recursive: true });
    for (const [file, text] of texts) fs.writeFileSync(path.join(work, side, file), text);
  };
  write('before', [[name, made.text], ['other.txt', other]]);
  const rows = made.rows ?? rowsOf(made);
  const patch = made.numbers ? [
    '--- a/other.txt', '+++ b/other.txt', '@@ -1,3 +1,3 @@', ' one', '-two', '+TWO', ' three',
    `--- a/${name}`, `+++ b/${name}`, made.numbers, ...rows,
    ...(made.isLast ? [] : ['--- /dev/null', '+++ b/made.txt', '@@ -0,0 +1 @@', '+made', '']),
  ].join('\n') : envelope([
    ['*** Update File: other.txt', ' one', '-two', '+TWO', ' three'],
    [`*** Update File: ${name}`, made.anchor ? `@@ ${made.anchor}` : '@@', ...rows],
    ['*** Add File: made.txt', '+made'],
  ]);
  let verdict = 'wrong';
  const accepts = (now) => {
    const text = Buffer.from((now.get(name) ?? '-').slice(1), 'latin1').toString();
    const isWhole = now.get('other.txt') === `-${fresh}` && now.get('made.txt') === '-made\n' && now.size === 3;
    verdict = isWhole ? judge(made, text) : 'wrong';
    return verdict === 'right';
  };
  const result = outcomeOf({ ...run, patch, accepts });
  const outcome = result.outcome === 'wrong' ? verdict === 'refused' ? 'wrong' : verdict : result.outcome;
  record(run, counts, made.kind, patch, { ...result, outcome });
}

function record(run, counts, title, patch, { outcome, said }) {
  counts.add(title, outcome);
  const isUnexpected = outcome === 'wrong' || title.startsWith('as it is') && outcome !== 'right';
  if (isUnexpected && run.wrong) {
    const place = path.join(run.wrong, String(fs.mkdirSync(run.wrong, { recursive: true }) ? 0 : fs.readdirSync(run.wrong).length));
    fs.cpSync(run.work, place, { recursive: true });
    fs.writeFileSync(path.join(place, 'patch'), patch);
    fs.writeFileSync(path.join(place, 'said.json'), JSON.stringify({ title, outcome, said }, null, 1));
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      'call-tool': { type: 'string', default: at('../../target/debug/call_tool') },
      seed: { type: 'string', default: process.env.GEMINI_TOOLS_SEED ?? '1' },
      packages: { type: 'string', default: at('../edits.d/packages.txt') },
      count: { type: 'string', default: '300' },
      wrong: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return process.stdout.write(USAGE);
  const packages = await getPackages(readPackages(values.packages));
  const files = new Map(packages.map((one) => [one, changedFiles(one.directories)]));
  await inWorkDirectory(async (root) => {
    const run = {
      callTool: path.resolve(values['call-tool']),
      chance: new Chance(values.seed, 'patches'),
      count: Number(values.count),
      files,
      packages,
      seed: values.seed,
      work: path.join(root, 'case'),
      wrong: values.wrong,
    };
    const counts = new Counts();
    measureExact(run, counts);
    await measureDisturbed(run, counts);
    process.stdout.write(`${counts}\n\n${packages.length} packages, seed ${values.seed}: ${counts.wrong} wrong\n`);
    const exact = [...counts.rows].filter(([title, row]) => title.startsWith('as it is') && row.right !== row.n);
    process.exitCode = counts.wrong > 0 || exact.length > 0 ? 1 : 0;
  });
}

await main();
