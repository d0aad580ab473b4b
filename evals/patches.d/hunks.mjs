// Owns the disturbances of a hunk that only a patch can have: of its marks, its blank lines, its anchor and its numbers.

import { extensionOf } from '../edits.d/generate.mjs';
import { isAdded, isBlank, isContext, isRemoved, texts } from '../edits.d/kinds/rows.mjs';

const lineOf = ({ kind, old, new: added }) => kind + (old ?? added);

/** A case of a change in a file with plain line ends; null elsewhere. `make` returns null where it does not fit. */
function hunk(kind, mark, make) {
  return (change, chance) => {
    if (change.mixed || change.end === '\r\n' || change.isOpen) return null;
    const made = make(change, chance);
    const base = { name: change.name, kind, mark, extension: extensionOf(change.name), text: change.before, ...texts(change) };
    return made && { ...base, accepts: [change.after], literal: false, ...made };
  };
}

function withoutMarks({ rows }) {
  const isIndented = (row) => isContext(row) && row.old.startsWith(' ') && !isBlank(row.old);
  const isMarked = (row) => isContext(row) && !isIndented(row) && row.old !== '';
  if (!rows.some(isIndented) || rows.some(isMarked)) return null;
  return { rows: rows.map((row) => (isIndented(row) ? row.old : lineOf(row))) };
}

/** A blank line that the file does not have, at the first or the last change, as an end of the hunk. */
function blankBeside({ rows }, chance) {
  const changed = rows.flatMap((row, i) => (isContext(row) ? [] : [i]));
  const [first, last] = [changed[0], changed.at(-1)];
  const isFirst = chance.below(2) === 0;
  const beside = isFirst ? rows[first - 1] : rows[last + 1];
  if (!beside || isBlank(beside.old) || isBlank(rows[isFirst ? first : last].old ?? '-')) return null;
  const kept = isFirst ? rows.slice(first) : rows.slice(0, last + 1);
  if (!kept.some((row) => !isAdded(row) && !isBlank(row.old))) return null;
  const lines = kept.map(lineOf);
  return { rows: isFirst ? [' ', ...lines] : [...lines, ' '] };
}

/** The file has the new lines, and farther down the old ones in another place. */
function elsewhereToo(head) {
  return ({ head: above, rows, tail }) => {
    const lines = (side) => rows.filter((row) => row[side] !== null).map((row) => `${row[side]}\n`).join('');
    const [old, fresh] = [lines('old'), lines('new')];
    const anchor = above.split('\n').at(-2);
    const isPlain = rows.some(isRemoved) && rows.some((row) => isAdded(row) && !isBlank(row.new));
    if (!isPlain || !anchor?.trim() || fresh.includes(old) || (above + tail).includes(old)) return null;
    const text = `${above}${fresh}${tail}#\n${old}`;
    return { text, rows: rows.map(lineOf), ...head({ anchor, line: above.split('\n').length, rows }) };
  };
}

const count = (rows, side) => rows.filter((row) => row[side] !== null).length;
const linesOf = (rows, side) => rows.filter((row) => row[side] !== null).map((row) => `${row[side]}\n`).join('');
const counts = (line, rows) => `@@ -${line},${count(rows, 'old')} +${line},${count(rows, 'new')} @@`;
const OTHER = [' #1', '-#2', '+#two', ' #3'];

/** The lines are there twice, and a hunk between both places comes first, though the other belongs above it. */
function outOfOrder({ head, rows, tail }) {
  const [old, fresh] = [linesOf(rows, 'old'), linesOf(rows, 'new')];
  if (!rows.some(isRemoved) || (head + tail).includes('#2')) return null;
  const first = head.split('\n').length;
  return {
    text: `${head}${old}#1\n#2\n#3\n${old}${tail}`,
    accepts: [`${head}${fresh}#1\n#two\n#3\n${old}${tail}`],
    numbers: `@@ -${first + count(rows, 'old')},3 +${first},3 @@`,
    rows: [...OTHER, counts(first, rows), ...rows.map(lineOf)],
  };
}

/** The number of the first hunk is off by as many lines as are between two places that have those of the second. */
function offByTwins({ head, rows, tail }) {
  const [old, fresh] = [linesOf(rows, 'old'), linesOf(rows, 'new')];
  const first = head.split('\n').length;
  const stated = first - count(rows, 'old') - 1;
  if (!rows.some(isRemoved) || stated < 1 || (head + tail).includes('#2')) return null;
  return {
    text: `${head}#1\n#2\n#3\n${old}#\n${old}${tail}`,
    accepts: [`${head}#1\n#two\n#3\n${fresh}#\n${old}${tail}`],
    numbers: `@@ -${stated},3 +${stated},3 @@`,
    rows: [...OTHER, counts(first + 3, rows), ...rows.map(lineOf)],
  };
}

function withoutContextBehind({ head, rows, before }) {
  const last = rows.findLastIndex((row) => !isContext(row));
  const kept = rows.slice(0, last + 1);
  const isOnce = before.split(linesOf(kept, 'old')).length === 2;
  if (!isContext(kept[0]) || last + 1 === rows.length || !isOnce) return null;
  return { numbers: counts(head.split('\n').length, kept), rows: kept.map(lineOf) };
}

/** A removed line is the rest of a line. */
function restOfLine({ rows, before }) {
  const row = rows.find((one) => isRemoved(one) && /^\s*\S+ \w/.test(one.old));
  const rest = row?.old.replace(/^\s*\S+ /, '');
  if (!rest || before.split('\n').some((line) => line.trim() === rest.trim())) return null;
  return { rows: [`-${rest}`, '+other'], accepts: [] };
}

/** The hunk begins with the lines that it adds, and the file has them. */
function appliedAbove({ head, rows, tail, before }) {
  const first = rows.findIndex(isAdded);
  if (first < 0 || rows.some(isRemoved) || rows.slice(first).every(isAdded)) return null;
  const kept = rows.slice(first);
  const isOnce = before.split(linesOf(kept, 'old')).length === 2;
  return isOnce ? { text: `${head}${linesOf(rows, 'new')}${tail}`, rows: kept.map(lineOf) } : null;
}

function otherCounts({ head, rows }, chance) {
  const first = head.split('\n').length;
  const other = (side) => count(rows, side) + chance.below(5) - 2;
  return { numbers: `@@ -${first},${Math.max(0, other('old'))} +${first},${Math.max(0, other('new'))} @@`, rows: rows.map(lineOf) };
}

/** The text ends within the hunk, in a line or behind one. */
function cutOff({ head, rows }, chance) {
  const text = rows.map(lineOf).join('\n');
  const lines = text.slice(0, 1 + chance.below(text.length - 1)).split('\n');
  const isCut = lines.length < rows.length;
  return isCut ? { numbers: counts(head.split('\n').length, rows), rows: lines, isLast: true } : null;
}

/** Behind a hunk that is complete, there is another one, whose head is none. */
function withoutHead({ head, rows }, chance) {
  const line = head.split('\n').length;
  const stray = chance.pick(['', '@@', '@@@ -1,3 +1,3 @@@', '*** Update File: other.txt', '+++ b/other.txt', 'In the same file:']);
  return { numbers: counts(line, rows), rows: [...rows.map(lineOf), stray, ...OTHER] };
}

export const HUNKS = [
  hunk('hunk: unchanged lines without their mark', 'may', withoutMarks),
  hunk('hunk: a blank line that is not there beside the change', 'refuse', blankBeside),
  hunk('hunk: applied already below its anchor', 'refuse', elsewhereToo(({ anchor }) => ({ anchor }))),
  hunk('hunk: applied already at its line', 'refuse', elsewhereToo(({ line, rows }) => ({
    numbers: counts(line, rows),
  }))),
  hunk('hunk: in the wrong order', 'may', outOfOrder),
  hunk('hunk: off by the distance of two places', 'may', offByTwins),
  hunk('hunk: no context behind the change', 'apply', withoutContextBehind),
  hunk('hunk: the rest of a line', 'refuse', restOfLine),
  hunk('hunk: applied already, what it adds first', 'refuse', appliedAbove),
  hunk('hunk: other counts', 'may', otherCounts),
  hunk('hunk: cut off', 'refuse', cutOff),
  hunk('hunk: another behind it without a head', 'refuse', withoutHead),
];
