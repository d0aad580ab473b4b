// Owns the measure of smart_edit: it runs the cases, counts what became of them, and makes the wrong ones small.

import fs from 'node:fs';
import os from 'node:os';

import { casesOf, KINDS } from './generate.mjs';
import { judge } from './judge.mjs';
import { editAll, workDirectory } from './ours.mjs';
import { aligned, percent } from './table.mjs';

const OUTCOMES = ['right', 'refused', 'literal', 'wrong'];
const SHRUNK_OF_A_KIND = 5;

/** Measures, prints the table, and returns the number of wrong results. */
export async function measure({ callTool, packages, seeds, perPackage, kinds, wrongFile, jsonFile }) {
  const work = workDirectory(os.tmpdir());
  const results = [];
  try {
    for (const seed of seeds) {
      const cases = await casesOf({ packages, seed, perPackage, kinds });
      const done = (i, after, said) => results.push({ one: slim(cases[i]), outcome: judge(cases[i], after), after, said });
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
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
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
    const { text, old, new: fresh, accepts } = small?.one ?? one.source;
    return line({ ...described(one), small: Boolean(small), said: small?.said ?? said, text, old, new: fresh, wanted: accepts, got: small?.after ?? after });
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

const lines = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Halves what is around each case as long as it stays wrong, all cases at once. */
async function shrink(results, { callTool, work }) {
  for (const result of results) result.piece = Math.max(1, Math.ceil(lines(result.one.source.change.head + result.one.source.change.tail).length / 2));
  let open = results;
  for (let round = 0; open.length > 0 && round < 40; round++) {
    const tries = open.flatMap((result) => cuts(result));
    const after = new Array(tries.length);
    const edits = tries.map(({ one }) => one);
    await editAll({ callTool, tool: 'smart_edit', edits, work, done: (i, text, said) => { after[i] = { text, said }; } });
    const progressed = new Set();
    tries.forEach(({ result, one }, i) => {
      if (progressed.has(result) || judge(one, after[i].text) !== 'wrong') return;
      progressed.add(result);
      result.small = { one, after: after[i].text, said: after[i].said };
    });
    for (const result of open) if (!progressed.has(result)) result.piece = result.piece > 1 ? Math.ceil(result.piece / 2) : 0;
    open = open.filter((result) => result.piece > 0);
  }
}

/** The case without each piece of so many lines before or behind the hunk. */
function cuts(result) {
  const one = result.small?.one ?? result.one.source;
  const { piece } = result;
  const [head, tail] = [lines(one.change.head), lines(one.change.tail)];
  const out = [];
  for (let at = 0; at < head.length; at += piece) out.push([[...head.slice(0, at), ...head.slice(at + piece)].join(''), one.change.tail]);
  for (let at = 0; at < tail.length; at += piece) out.push([one.change.head, [...tail.slice(0, at), ...tail.slice(at + piece)].join('')]);
  return out.flatMap(([h, t]) => {
    const made = smaller(one, h, t);
    return made ? [{ result, one: made }] : [];
  });
}
