// Owns the measure of misses: whether a refusal's answer names the place that was meant, and gives its text.

import fs from 'node:fs';
import path from 'node:path';

import { editAll, inWorkDirectory } from './ours.mjs';
import { Chance } from './random.mjs';
import { aligned, percent } from './table.mjs';
import { letters, splice } from './kinds/rows.mjs';

const MOST_EDITS = 5;
const MOST_CHARS = 400;
const SHORT_FRAGMENT = 15;

/** What is quoted of a file: each returns `{line, old}` with the place's first line from 1, or null. */
const SORTS = {
  'a fragment of a line': (lines, chance) => {
    const at = chance.below(lines.length);
    const line = lines[at].trim();
    if (line.length < 2 * SHORT_FRAGMENT) return null;
    const length = SHORT_FRAGMENT + chance.below(Math.floor(line.length / 2) - SHORT_FRAGMENT + 1);
    const old = line.slice(chance.below(line.length - length)).slice(0, length).trim();
    return { line: at + 1, count: 1, old };
  },
  'a line': (lines, chance) => {
    const at = chance.below(lines.length);
    return { line: at + 1, count: 1, old: lines[at] };
  },
  'three lines': (lines, chance) => {
    const at = chance.below(Math.max(1, lines.length - 2));
    return { line: at + 1, count: 3, old: lines.slice(at, at + 3).join('\n') };
  },
};

/** Prints how many of `count` misses of each sort are answered with the right place, and how many second tries succeed. */
export async function measureMisses({ callTool, packages, seeds, count, jsonFile }) {
  await inWorkDirectory(async (work) => {
    const files = packages.flatMap((one) => textFiles(one.directories[1]));
    const misses = seeds.flatMap((seed) => Object.keys(SORTS).flatMap((sort) => missesOf({ files, sort, seed, count })));
    await editAll({ callTool, tool: 'replace', edits: misses, work, done: (i, after, said) => answered(misses[i], after, said) });
    await secondTry(misses, { callTool, work });
    process.stdout.write(table(misses, packages, seeds));
    if (jsonFile) {
      const lines = misses.map(({ text, new: _, count: __, extension, ...miss }) => `${JSON.stringify(miss)}\n`);
      fs.writeFileSync(jsonFile, lines.join(''));
    }
  });
}

function textFiles(tree) {
  const entries = fs.readdirSync(tree, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => path.join(entry.parentPath ?? entry.path, entry.name)).sort();
}

function missesOf({ files, sort, seed, count }) {
  const chance = new Chance(seed, 'misses', sort);
  const misses = [];
  while (misses.length < count) {
    const name = chance.pick(files);
    const bytes = fs.readFileSync(name);
    const text = bytes.toString();
    if (!Buffer.from(text).equals(bytes)) continue;
    const lines = text.split(/\r?\n/);
    const place = SORTS[sort](lines, chance);
    if (!place || letters(place.old, SHORT_FRAGMENT - 3).length === 0 || place.old.length > MOST_CHARS) continue;
    if (text.split(place.old).length !== 2) continue;
    const edits = 1 + chance.below(MOST_EDITS);
    const old = mistyped(place.old, edits, chance);
    if (text.includes(old)) continue;
    misses.push({ ...place, name, sort, seed, edits, text, meant: place.old, old, new: `${old}!`, extension: path.extname(name) });
  }
  return misses;
}

/** A text with so many letters changed, left out, put in or swapped. */
function mistyped(text, edits, chance) {
  let out = text;
  for (let i = 0; i < edits; i++) {
    const at = chance.pick(letters(out, 1));
    const letter = String.fromCharCode(97 + chance.below(26));
    const count = chance.pick([0, 1, 1, 1]);
    out = splice(out, at, count, count === 1 && chance.below(3) === 0 ? '' : letter);
  }
  return out;
}

/** What an answer says: the first line that it names, and the text that it gives of that place. Follows the tool's format. */
export function readAnswer(message, lineCount) {
  const named = /\blines? (\d+)/i.exec(message);
  if (!named) return null;
  const fenced = /^(`{3,})[^\n]*\n([\s\S]*?)\n\1$/m.exec(message);
  if (fenced) return { line: Number(named[1]), text: fenced[2] };
  const rest = message.slice(named.index).split('\n').slice(1);
  return { line: Number(named[1]), text: rest.slice(0, lineCount).join('\n') };
}

function answered(miss, after, said) {
  miss.said = said.error ?? said.output;
  if (after !== miss.text) {
    miss.outcome = 'applied';
    return;
  }
  miss.place = readAnswer(miss.said, miss.count);
  const isNear = miss.place && miss.place.line >= miss.line && miss.place.line < miss.line + miss.count;
  miss.outcome = miss.place ? (isNear ? 'right place' : 'another place') : 'no place';
}

async function secondTry(misses, { callTool, work }) {
  const named = misses.filter((miss) => miss.outcome === 'right place' && miss.place.text);
  const edits = named.map(({ text, extension, place }) => ({ text, extension, old: place.text, new: `${place.text}!` }));
  const done = (i, after) => {
    const { text, line, count, place } = named[i];
    const lines = text.split('\n');
    const changed = after.split('\n').findIndex((one, n) => one !== lines[n]);
    named[i].succeeded = after === text.replace(place.text, () => `${place.text}!`) && changed + 1 >= line && changed < line - 1 + count;
  };
  await editAll({ callTool, tool: 'replace', edits, work, done });
}

function table(misses, packages, seeds) {
  const outcomes = ['right place', 'another place', 'no place', 'applied'];
  const rows = [['quoted, with one to five letters wrong', 'n', ...outcomes, 'second try succeeds']];
  const row = (title, list) => rows.push([
    title,
    String(list.length),
    ...outcomes.map((outcome) => String(list.filter((miss) => miss.outcome === outcome).length)),
    percent(list.filter((miss) => miss.succeeded).length, list.length),
  ]);
  for (const sort of Object.keys(SORTS)) row(sort, misses.filter((miss) => miss.sort === sort));
  row('all', misses);
  return `${aligned(rows)}\n\n${packages.length} packages, seeds ${seeds.join(', ')}\n`;
}
