// Owns the kinds whose texts can be read in two ways, one of which is another place or another text of the file.

import { awayRows, indentOf, isBlank, isContext, oneLine, splice, texts } from './rows.mjs';

const WORD = /[A-Za-z]{3,}/;

const inFile = (change) => change.before.split('\n');

/** A line that is there once, with `change` of its last word in the new text. */
const otherEnd = (line) => line.replace(/[A-Za-z]+(?=[^A-Za-z]*$)/, (word) => `${word}Z`);

/** The end of a word and CR, which the file has in the middle of a line alone. */
function cutInLine(end) {
  return (change, chance) => {
    if (change.mixed || change.end === '\r\n') return null;
    const text = change.before.replaceAll('\n', end);
    const word = chance.pick([...text.matchAll(/[A-Za-z]{4,} [a-z]{3,}(?= \w)/g)].map(([one]) => one));
    if (!word || text.split(word).length !== 2) return null;
    return { old: `${word}\r`, new: `${word}Z\r`, text, accepts: [] };
  };
}

/** A line of the file begins with a number of its own, and the quoted one with another. */
function otherNumber(change, chance) {
  const isPlain = (row) => isContext(row) && row.old.trim().length > 6 && WORD.test(row.old) && !/^\s*L?\d/.test(row.old);
  const row = chance.pick(change.rows.filter((one) => isPlain(one) && change.before.split(one.old).length === 2));
  if (!row) return null;
  const [first, mark] = [2 + chance.below(60), chance.pick([':', ': ', '|', ' | ', '\t'])];
  const numbered = (n, line) => `${indentOf(line)}${n}${mark}${line.trimStart()}`;
  const other = first + chance.pick([-1, 1, 2, 10]);
  const text = change.before.replace(row.old, () => numbered(first, row.old));
  const old = numbered(other, row.old);
  return text.includes(old) ? null : { old: `${old}\n`, new: `${numbered(other, otherEnd(row.old))}\n`, text, accepts: [] };
}

/** The line below `...` is behind the end of the block that the line above it begins. */
function beyondBlock(change, chance) {
  const lines = inFile(change);
  const depth = (at) => (lines[at] === undefined || isBlank(lines[at]) ? null : indentOf(lines[at]).length);
  const isOnce = (line) => lines.indexOf(line) === lines.lastIndexOf(line);
  const begins = lines.flatMap((_, at) => (depth(at) !== null && depth(at + 1) > depth(at) && isOnce(lines[at]) ? [at] : []));
  const at = chance.pick(begins);
  if (at === undefined) return null;
  const end = lines.findIndex((_, n) => n > at && depth(n) !== null && depth(n) <= depth(at));
  const isMeant = (line, n) => n > end && n < end + 40 && depth(n) > depth(at) && WORD.test(line) && isOnce(line);
  const below = end < 0 ? undefined : chance.pick(lines.filter(isMeant));
  if (below === undefined) return null;
  const text = (line) => `${lines[at]}\n${indentOf(lines[at + 1])}...\n${line}\n`;
  return { old: text(below), new: text(otherEnd(below)), accepts: [] };
}

/** As above, where nothing is indented: the line below `...` is behind a blank line, in another paragraph or section. */
function beyondParagraph(change, chance) {
  const lines = inFile(change);
  const isBegin = (line, n) => /^[^\s)\]}]/.test(line) && (n === 0 || isBlank(lines[n - 1])) && !isBlank(lines[n + 1] ?? '');
  const isOnce = (line) => lines.indexOf(line) === lines.lastIndexOf(line);
  const at = chance.pick(lines.flatMap((line, n) => (isBegin(line, n) && isOnce(line) ? [n] : [])));
  if (at === undefined) return null;
  const end = lines.findIndex((line, n) => n > at && isBlank(line));
  const next = lines.findIndex((line, n) => n > end && isBegin(line, n));
  const isMeant = (line, n) => n > next && n < end + 40 && /^\S/.test(line) && WORD.test(line) && isOnce(line);
  const below = end < 0 || next < 0 ? undefined : chance.pick(lines.filter(isMeant));
  if (below === undefined) return null;
  const text = (line) => `${lines[at]}\n...\n${line}\n`;
  return { old: text(below), new: text(otherEnd(below)), accepts: [] };
}

const NOTES = ['(* ... existing code ... *)', 'C     ... existing code ...', '" ... rest of the code ...', 'REM rest of the file ...', '.\\" ... existing code ...', '{- ... unchanged code ... -}', '.. ... existing code ...', '[//]: # (... existing code ...)', '@c ... rest of the code ...'];

/** A run of context as a note in the comment of some language, in the new text alone. */
function noted(change, chance) {
  const { rows } = change;
  const at = chance.pick(rows.flatMap((row, i) => (isContext(row) && rows[i + 1] && isContext(rows[i + 1]) ? [i] : [])));
  if (at === undefined) return null;
  const gone = [rows[at], rows[at + 1]].map((row, n) => ({ ...row, new: n === 0 ? chance.pick(NOTES) : null }));
  return texts(change, [...rows.slice(0, at), ...gone, ...rows.slice(at + 2)]);
}

/** Rows of columns beside the change. */
const withTable = (change, added) => change.with({ rows: [...added, ...change.rows] });

function tableInBlanks(change) {
  const line = (text) => ({ kind: ' ', old: text, new: text });
  const made = withTable(change, [line('x\t5\t7'), { kind: '+', old: null, new: 'z\t1\t2' }, line('y\t6\t8')]);
  const quoted = made.rows.map((row, i) => (i > 2 ? row : { ...row, old: row.old?.replaceAll('\t', ' ') ?? null, new: row.new.replaceAll('\t', ' ') }));
  return { ...texts(change, quoted), change: made };
}

function otherColumn(change) {
  const made = withTable(change, [{ kind: '-', old: 'x\t5\t\t7', new: null }, { kind: '+', old: null, new: 'x\t6\t\t7' }]);
  const quoted = made.rows.map((row, i) => (i > 1 ? row : { ...row, old: row.old && 'x\t\t5\t7', new: row.new && 'x\t\t6\t7' }));
  return { ...texts(change, quoted), change: made };
}

/** A line behind the last quoted one, which has another word. */
function behindOther(change, chance) {
  const last = change.rows.at(-1);
  const words = isContext(last) ? [...last.old.matchAll(/[A-Za-z_]{4,}/g)] : [];
  const word = chance.pick(words);
  if (!word || change.rows.filter(isContext).length < 4) return null;
  const line = splice(last.old, word.index, word[0].length, chance.pick(['right', 'other']));
  const rows = [...change.rows.filter(isContext).slice(0, -1), { ...last, old: line, new: line }, { kind: '+', old: null, new: 'NEW' }];
  return line === last.old || change.before.includes(line) ? null : { ...texts(change, rows), accepts: [] };
}

const OPERATORS = [['<', '>'], ['>', '<'], ['==', '!='], ['!=', '=='], ['+', '-'], ['&&', '||']];

function otherOperator(line, chance) {
  const pair = chance.pick(OPERATORS.filter(([one]) => line.includes(` ${one} `)));
  return pair ? line.replace(` ${pair[0]} `, ` ${pair[1]} `) : null;
}

const SIGNS = [['(', '['], ['[', '('], ['$', '@'], ['@', '$'], ['.', '?.'], ['::', '.'], ['_', ''], ['#', ''], ['?', '!'], ["'", '|'], [':', '=']];

/** A sign within a line that stays is another. */
function otherSign(line, chance) {
  const inner = line.trim().slice(1, -1);
  const pair = chance.pick(SIGNS.filter(([one]) => inner.includes(one)));
  const from = indentOf(line).length + 1;
  return pair ? splice(line, line.indexOf(pair[0], from), pair[0].length, pair[1]) : null;
}

/** A line that stays, with one letter of a script in which that is a word. */
function otherIdeograph(change) {
  const row = { kind: ' ', old: '# \u9009\u9879', new: '# \u9009\u9879' };
  const [there, quoted] = ['# \u4ec5\u9650\u7537\u6027\u7528\u6237\u4f7f\u7528', '# \u4ec5\u9650\u5973\u6027\u7528\u6237\u4f7f\u7528'];
  const made = change.with({ rows: [row, { kind: ' ', old: there, new: there }, ...change.rows] });
  const rows = made.rows.map((one, i) => (i === 1 ? { kind: ' ', old: quoted, new: quoted } : one));
  return { ...texts(made, rows), change: made, accepts: [] };
}

/** What goes is quoted otherwise, and nothing comes: what stays is in the file, of course. */
function deletion(change, chance) {
  const rows = change.rows.filter((row) => row.kind !== '+');
  const gone = rows.filter((row) => row.kind === '-' && WORD.test(row.old));
  const row = chance.pick(gone);
  if (!row) return null;
  const word = WORD.exec(row.old);
  const other = { ...row, old: splice(row.old, word.index, word[0].length, `other${word[0]}`) };
  const made = change.with({ rows });
  return { ...texts(made, rows.map((one) => (one === row ? other : one))), change: made, accepts: [], isOpen: true };
}

/** A line that stays is quoted otherwise, and all of it comes a level deeper. */
function deeper(change, chance) {
  const rows = change.rows.filter((row) => isContext(row) && !isBlank(row.old));
  const row = chance.pick(rows.filter((one) => WORD.test(one.old)));
  if (!row || rows.length < 3) return null;
  const word = WORD.exec(row.old);
  const quoted = splice(row.old, word.index, word[0].length, `other${word[0]}`);
  const put = change.rows.filter(isContext).map((one) => (isBlank(one.old) ? one : { ...one, old: one === row ? quoted : one.old, new: `    ${one.old}` }));
  return { ...texts(change, put), accepts: [], isOpen: true };
}

function moreWord(line, chance) {
  const at = chance.pick([...line.matchAll(/(?<=[a-z]) (?=[a-z])/g)].map((match) => match.index));
  return at === undefined ? null : splice(line, at, 1, ' not ');
}

function shortWord(line, chance) {
  const word = chance.pick([...line.matchAll(/\b(get|set|min|max|left|right|home|user)(?=[^a-z]|$)/g)]);
  const other = { get: 'set', set: 'get', min: 'max', max: 'min', left: 'right', right: 'left', home: 'phone', user: 'name' };
  return word ? splice(line, word.index, word[0].length, other[word[0]]) : null;
}

/** `...` around both texts, where the file has other lines. */
function dotsAround(change) {
  const line = { kind: ' ', old: '...', new: '...' };
  return change.before.includes('...') ? null : texts(change, [line, ...change.rows, line]);
}

/** The lines that old has are there with a change of their own, and as they are in old only a level deeper. */
function deeperTwin(change, chance) {
  const quoted = change.rows.filter((row) => row.old !== null && !isBlank(row.old));
  const row = chance.pick(quoted.slice(1).filter((one) => one.kind === '-'));
  if (!row || quoted[0].old.trim().length < 12 || change.tail === '') return null;
  const stale = change.with({ rows: change.rows.map((one) => (one === row ? { ...row, old: `${row.old} # changed` } : one)) });
  const twin = change.rows.filter((one) => one.old !== null).map((one) => (isBlank(one.old) ? '' : `    ${one.old}`) + change.end).join('');
  return { ...texts(change), text: stale.before.replace(/\n?$/, change.end) + twin, accepts: [], isOpen: true };
}

/** A line that the file has with a blank more is the end of another line, which begins within a word. */
function endOfAnother(change, chance) {
  const lines = inFile(change);
  const isMeant = (line) => /^\w/.test(line.trim()) && /\w [^\s]/.test(line.trim()) && change.before.split(line.trim()).length === 2;
  const line = change.mixed || change.end !== '\n' ? undefined : chance.pick(lines.filter(isMeant));
  if (line === undefined) return null;
  const [own, quoted] = [line.replace(/(?<=\w) (?=[^\s])/, '  '), line.trim()];
  const text = `dis${quoted}\n${change.before.replace(line, () => own)}`;
  return { old: `${quoted}\n`, new: `${otherEnd(quoted)}\n`, text, accepts: [] };
}

export const TWICE = [
  { name: 'words and CR that are within a line', mark: 'refuse', literal: false, make: cutInLine('\r\n') },
  { name: 'words and CR that are within a line, LF file', mark: 'refuse', literal: false, make: cutInLine('\n') },
  { name: 'a number of the line itself is another', mark: 'refuse', literal: false, make: otherNumber },
  { name: 'a run as ... over the end of a block', mark: 'refuse', literal: false, make: beyondBlock },
  { name: 'a run as ... over a paragraph', mark: 'refuse', literal: false, make: beyondParagraph },
  { name: 'a run as a note of some language in new only', mark: 'keep', literal: false, make: noted },
  { name: 'columns with a blank for each tab', mark: 'keep', make: tableInBlanks },
  { name: 'an empty column elsewhere in a removed line', mark: 'refuse', make: otherColumn },
  { name: 'another word in the line before a new last one', mark: 'refuse', literal: false, make: behindOther },
  { name: 'another operator in a context line', mark: 'refuse', make: oneLine(awayRows, otherOperator) },
  { name: 'another sign in a context line', mark: 'refuse', make: oneLine(awayRows, otherSign) },
  { name: 'another Chinese word in a context line', mark: 'refuse', make: otherIdeograph },
  { name: 'a deletion with another word', mark: 'refuse', make: deletion },
  { name: 'a level deeper with another word', mark: 'refuse', make: deeper },
  { name: 'a word more in a context line', mark: 'refuse', make: oneLine(awayRows, moreWord) },
  { name: 'another short word in a context line', mark: 'refuse', make: oneLine(awayRows, shortWord) },
  { name: 'a twin a level deeper, the lines themselves changed', mark: 'refuse', literal: false, make: deeperTwin },
  { name: 'the end of another line, from within a word', mark: 'refuse', literal: false, make: endOfAnother },
  { name: 'both between ...', mark: 'may', make: dotsAround },
];
