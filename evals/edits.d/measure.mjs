// Owns the measure of smart_edit: it runs the cases, counts what became of them, and makes the wrong ones small.

import fs from 'node:fs';

import { casesOf, extensionOf, KINDS } from './generate.mjs';
import { judge } from './judge.mjs';
import { editAll, inWorkDirectory } from './ours.mjs';
import { aligned, percent } from './table.mjs';

const OUTCOMES = ['right', 'refused', 'literal', 'wrong'];
const SHRUNK_OF_A_KIND = 5;
const MOST_PIECES = 8;

/** Measures, prints the table, and returns the number of wrong results. */
export async function measure({ callTool, packages, seeds, perPackage, kinds, wrongFile, jsonFile }) {
  return inWorkDirectory(async (work) => {
    const results = [];
    for (const seed of seeds) {
      const cases = await casesOf({ packages, seed, perPackage, kinds });
      const done = (i, after, said) => results.push({ one: slim(cases[i]), outcome: judge(cases[i], after, said), after, said });
      const keep = results.length;
      await editAll({ callTool, tool: 'smart_edit', edits: cases, work, done });
      // Whole files of tens of thousands of cases are too much to keep.
      for (const result of results.slice(keep)) if (result.outcome !== 'wrong') [result.after, result.one.source] = [null, null];
      console.error(`seed ${seed}: ${cases.length} edits, ${results.slice(keep).filter((r) => r.outcome === 'wrong').length} wrong`);
    }
    process.stdout.write(table(results, packages, seeds));
    const wrong = results.filter((result) => result.outcome === 'wrong');
    if (wrongFile) await writeWrong(wrongFile, wrong, { callTool, work });
    if (jsonFile) fs.writeFileSync(jsonFile, results.map(({ one, outcome, said }) => line({ ...described(one), outcome, said })).join(''));
    return wrong.length;
  });
}

/** Makes the cases of a file that `--wrong` wrote once more, and prints which are wrong still. */
export async function measureAgain({ callTool, file }) {
  return inWorkDirectory(async (work) => {
    const cases = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((text) => asCase(JSON.parse(text)));
    const outcomes = [];
    const done = (i, after, said) => { outcomes[i] = judge(cases[i], after, said); };
    await editAll({ callTool, tool: 'smart_edit', edits: cases, work, done });
    const rows = cases.map((one, i) => [String(i + 1), outcomes[i], one.kind, one.name]);
    process.stdout.write(`${aligned([['case', 'outcome', 'disturbed', 'change'], ...rows])}\n`);
    return outcomes.filter((outcome) => outcome === 'wrong').length;
  });
}

/** A case as it was written, which has no function to compare results by. */
function asCase({ wanted, name, ...rest }) {
  const literal = KINDS.find((kind) => kind.name === rest.kind)?.literal ?? true;
  return { ...rest, name, accepts: wanted, literal, extension: extensionOf(name) };
}

const line = (value) => `${JSON.stringify(value)}\n`;
const slim = (one) => ({ name: one.name, seed: one.seed, kind: one.kind, mark: one.mark, source: one });
const described = ({ name, seed, kind, mark }) => ({ name, seed, kind, mark });

function table(results, packages, seeds) {
  const rows = [['disturbed', 'mark', 'n', ...OUTCOMES]];
  const count = (list, outcome) => String(list.filter((result) => result.outcome === outcome).length);
  const row = (title, mark, list) => rows.push([title, mark, String(list.length), ...OUTCOMES.map((outcome) => count(list, outcome))]);
  for (const { name } of KINDS) {
    for (const mark of ['apply', 'may', 'keep', 'refuse']) {
      const list = results.filter(({ one }) => one.kind === name && one.mark === mark);
      if (list.length > 0) row(name, mark, list);
    }
  }
  row('all', '', results);
  const clear = results.filter(({ one, outcome }) => one.mark === 'apply' && outcome !== 'literal');
  const right = clear.filter(({ outcome }) => outcome === 'right').length;
  return [
    aligned(rows),
    '',
    'apply: it is clear; may: may be refused; keep: refused, or the wanted bytes; refuse: must be refused.',
    'literal: not what was meant, but what the words say, since old_string is there exactly once; not counted.',
    `${packages.length} packages, seeds ${seeds.join(', ')}: ${count(results, 'wrong')} wrong of ${results.length}; `
      + `of ${clear.length} clear ones ${right} right, ${percent(right, clear.length)}`,
    '',
  ].join('\n');
}

/** Writes the wrong cases, the first of each kind with as few lines of the file as show it. */
async function writeWrong(file, wrong, tools) {
  const perKind = new Map();
  const shrunk = [];
  for (const result of wrong) {
    const nth = (perKind.get(result.one.kind) ?? 0) + 1;
    perKind.set(result.one.kind, nth);
    if (nth <= SHRUNK_OF_A_KIND) shrunk.push(result);
  }
  await shrink(shrunk, tools);
  const lines = wrong.map(({ one, after, said, small }) => {
    const { text, old, new: fresh, accepts, isOpen } = small?.one ?? one.source;
    const result = { said: small?.said ?? said, text, old, new: fresh, isOpen, wanted: accepts, got: small?.after ?? after };
    return line({ ...described(one), small: Boolean(small), ...result });
  });
  fs.writeFileSync(file, lines.join(''));
}

/** The same case with fewer lines before and behind the hunk; null where the kind changed the file's text itself. */
function smaller(one, head, tail) {
  const { change } = one;
  const [before, after] = [change.with({ head, tail }), one.change];
  const isPlain = one.text === after.before && one.accepts.length === 1 && one.accepts[0] === after.after && !one.fits;
  const isAgain = one.text === after.after && one.accepts.length === 0;
  if (isPlain) return { ...one, change: before, text: before.before, accepts: [before.after] };
  return isAgain ? { ...one, change: before, text: before.after } : null;
}

/** Leaves out what is around the hunk of each case as long as it stays wrong, all cases at once. */
async function shrink(results, { callTool, work }) {
  let open = results.map((result) => ({ result, pieces: 1 }));
  while (open.length > 0) {
    const tries = open.flatMap(({ result, pieces }) => {
      const smallest = result.small?.one ?? result.one.source;
      return cuts(smallest, pieces).map((one) => ({ result, one }));
    });
    const smallest = new Map();
    const done = (i, after, said) => {
      const { result, one } = tries[i];
      const isBest = one.text.length < (smallest.get(result)?.one.text.length ?? Infinity);
      if (isBest && judge(one, after, said) === 'wrong') smallest.set(result, { one, after, said });
    };
    await editAll({ callTool, tool: 'smart_edit', edits: tries.map(({ one }) => one), work, done });
    for (const [result, small] of smallest) result.small = small;
    // What could be cut is cut again, else in smaller pieces.
    open = open
      .map(({ result, pieces }) => ({ result, pieces: smallest.has(result) ? pieces : pieces * 2 }))
      .filter(({ pieces }) => pieces <= MOST_PIECES);
  }
}

/** The case without each of so many pieces of the lines before the hunk, and of those behind it. */
function cuts(one, pieces) {
  const [head, tail] = [one.change.head, one.change.tail];
  const heads = without(head, pieces).map((part) => smaller(one, part, tail));
  const tails = without(tail, pieces).map((part) => smaller(one, head, part));
  return [...heads, ...tails].filter(Boolean);
}

function without(text, pieces) {
  const all = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const size = Math.max(1, Math.ceil(all.length / pieces));
  const starts = Array.from({ length: Math.ceil(all.length / size) }, (_, i) => i * size);
  return starts.map((at) => [...all.slice(0, at), ...all.slice(at + size)].join(''));
}
