// Owns the single changes between two directories: each a file as it was, and the lines of one hunk.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { ending, run } from '../../scripts/e2e.d/child.mjs';

const DIFF_LIMIT_MS = 120_000;

/** A change of more lines is none that a model makes with one edit. */
const HUNK_LINES = 60;

/** Longer lines are made by programs. */
const LINE_CHARS = 500;

/**
 * One place at which a file changed.
 *
 * `rows` are its lines without their ends, those of the context too. A row is `{kind, old, new}`: kind is ' ' for a line
 * of the context, '-' and '+' for one that goes and one that comes, and the text that the row does not have is null.
 */
export class Change {
  constructor({ name, head, rows, tail, end, isOpen, mixed }) {
    Object.assign(this, { name, head, rows, tail, end, isOpen, mixed });
  }

  /** The text of one side of the hunk, as it is in the file. */
  side(side, rows = this.rows) {
    const lines = rows.map((row) => row[side]).filter((line) => line !== null);
    const text = lines.map((line) => line + this.end).join('');
    return this.isOpen && this.tail === '' ? text.slice(0, -this.end.length) : text;
  }

  get before() {
    return this.head + this.side('old') + this.tail;
  }

  get after() {
    return this.head + this.side('new') + this.tail;
  }

  with(parts) {
    return new Change({ ...this, ...parts });
  }
}

const hunks = new Map();

/**
 * Up to `count` single changes from one directory to the other, with so many lines of context. Each kind of file comes as
 * often as any other, so that the commonest does not hide the rest.
 */
export async function changesOf(title, directories, { context, count, chance }) {
  const key = JSON.stringify([directories, context]);
  if (!hunks.has(key)) hunks.set(key, await hunksOf(directories, context));
  const bySort = new Map([...hunks.get(key)].map(([sort, list]) => [sort, [...list]]));
  const changes = [];
  while (changes.length < count && bySort.size > 0) {
    const sort = chance.pick([...bySort.keys()]);
    const list = bySort.get(sort);
    const [hunk] = list.splice(chance.below(list.length), 1);
    if (list.length === 0) bySort.delete(sort);
    changes.push(...changeOf(title, hunk));
  }
  return changes;
}

/** All single changes from one directory to the other. */
export async function changesIn(title, directories, context) {
  const bySort = await hunksOf(directories, context);
  return [...bySort.values()].flat().flatMap((hunk) => changeOf(title, hunk));
}

/** The change of a hunk in a list, which is empty if that is none. */
function changeOf(title, { file, path: name, hunk }) {
  const text = readText(file);
  const change = text === null ? null : changeAt(`${title} ${name}:${hunk.line}`, text, hunk);
  return change ? [change] : [];
}

/** The hunks between two directories by the extension of their files, without those that are no single edit. */
async function hunksOf([from, to], context) {
  const args = ['diff', '--no-index', '--no-color', '--no-ext-diff', '--no-renames', '--diff-filter=M', `-U${context}`];
  const cwd = path.dirname(from);
  const bySort = new Map();
  for (const { file, hunks: list } of parse(await gitDiff([...args, path.basename(from), path.basename(to)], cwd))) {
    const sort = path.extname(file) || path.basename(file);
    const usable = list.filter(isSingleEdit).map((hunk) => ({ file: path.join(cwd, file), path: file.slice(file.indexOf('/') + 1), hunk }));
    if (usable.length > 0) bySort.set(sort, [...(bySort.get(sort) ?? []), ...usable]);
  }
  return bySort;
}

async function gitDiff(args, cwd) {
  const env = { ...process.env, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'gemini-tools-diff-'));
  try {
    const file = path.join(work, 'diff');
    const [command, ...rest] = args;
    const all = ['-c', 'core.quotePath=false', command, `--output=${file}`, ...rest];
    const result = await run('git', all, { cwd, env, limitMs: DIFF_LIMIT_MS });
    // 1 says that there are differences.
    if (![0, 1].includes(result.status)) throw new Error(`git diff ${ending(result)} in ${cwd}: ${result.stderr}`);
    return fs.readFileSync(file, 'utf8');
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

/** The text of a file, null if it is no UTF-8. */
function readText(file) {
  const bytes = fs.readFileSync(file);
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) && !text.includes('\0') ? text : null;
}

function parse(diff) {
  const files = [];
  const lines = diff.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const file = /^--- a\/(.*?)\t?$/.exec(lines[at]);
    if (file) files.push({ file: file[1], hunks: [] });
    const header = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(lines[at]);
    if (!header || files.length === 0) continue;
    let [left, right] = [header[2] ?? 1, header[3] ?? 1].map(Number);
    const hunk = { line: Number(header[1]), rows: [], opens: [] };
    while (left > 0 || right > 0 || lines[at + 1]?.startsWith('\\')) {
      const line = lines[++at];
      const [kind, text] = [line[0], line.slice(1)];
      if (kind === '\\') hunk.opens.push(hunk.rows.at(-1).kind);
      else hunk.rows.push({ kind, old: kind === '+' ? null : text, new: kind === '-' ? null : text });
      if (kind === ' ' || kind === '-') left--;
      if (kind === ' ' || kind === '+') right--;
    }
    files.at(-1).hunks.push(hunk);
  }
  return files;
}

function isSingleEdit({ rows, opens }) {
  // Where only one side lacks the last line feed, that is the change.
  const isWholeEnd = ['', ' ', '-,+'].includes(opens.join());
  const isOneSided = rows.every((row) => row.kind === '+') || rows.every((row) => row.kind === '-');
  const words = (side) => rows.map((row) => row[side]?.replace(/\r$/, '')).filter((line) => line !== undefined).join('\n');
  const isShort = rows.length <= HUNK_LINES && rows.every((row) => (row.old ?? row.new).length <= LINE_CHARS);
  // A model sees no line ends, and edits keep them.
  return isWholeEnd && isShort && !isOneSided && words('old') !== words('new');
}

function changeAt(name, text, { line, rows, opens }) {
  const lines = text.split('\n');
  const count = rows.filter((row) => row.old !== null).length;
  const head = lines.slice(0, line - 1).map((one) => `${one}\n`).join('');
  const tail = lines.slice(line - 1 + count).join('\n');
  const isLf = !text.includes('\r\n') || /(^|[^\r])\n/.test(text);
  const isCrlf = !isLf && rows.every((row) => [row.old, row.new].every((one) => one === null || one.endsWith('\r')));
  const bare = (one) => (one !== null && isCrlf ? one.slice(0, -1) : one);
  const change = new Change({
    name,
    head,
    rows: rows.map((row) => ({ kind: row.kind, old: bare(row.old), new: bare(row.new) })),
    tail,
    end: isCrlf ? '\r\n' : '\n',
    isOpen: opens.length > 0,
    mixed: !isCrlf && text.includes('\r'),
  });
  // What does not come together again, or stands at two places, is no single change.
  const old = change.side('old');
  const isOnce = old !== '' && text.indexOf(old) === text.lastIndexOf(old);
  return change.before === text && isOnce && change.after !== text ? change : null;
}
