// Owns the kinds in which lines are mistyped, left out, repeated, or have something before them; and the ends of texts.

import { dedented } from './blanks.mjs';
import {
  awayRows, eachText, everyLine, indentOf, isAdded, isBlank, isContext, isRemoved, leftOut, letters, loseLetter, mapped,
  nextRows, oneLine, splice, texts, wholeTexts,
} from './rows.mjs';

const contexts = (rows) => rows.filter(isContext);
const removed = (rows) => rows.filter(isRemoved);
const filled = (rowsOf) => (rows) => rowsOf(rows).filter((row) => !isBlank(row.old));
const isComment = (row) => /^\s*(\/\/|\/?\*|#[^a-z!]|--|%|;|<!--|\.\. )/.test(row.old ?? '');

const quoted = (rows) => rows.filter((row) => !isAdded(row) && !isBlank(row.old));
const goesOn = (line) => (line.endsWith('\\') ? null : `${line} \\`);
const otherCase = (line, chance) => {
  const at = chance.pick(letters(line));
  if (at === undefined) return null;
  const c = line[at];
  return splice(line, at, 1, c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase());
};
const otherDigit = (line, chance) => {
  const at = chance.pick([...line.matchAll(/\d/g)].map((match) => match.index));
  return at === undefined ? null : splice(line, at, 1, String((Number(line[at]) + 1 + chance.below(9)) % 10));
};
const swappedLetters = (line, chance) => {
  const at = chance.pick(letters(line).filter((i) => /[A-Za-z]/.test(line[i + 1] ?? '') && line[i] !== line[i + 1]));
  return at === undefined ? null : splice(line, at, 2, line[at + 1] + line[at]);
};
const otherWord = (line, chance) => {
  const word = chance.pick([...line.matchAll(/[A-Za-z_]{4,}/g)]);
  return word ? splice(line, word.index, word[0].length, chance.pick(['value', 'result', 'options', 'handler'])) : null;
};
const endMark = (line) => (/[;,]$/.test(line) ? line.slice(0, -1) : /[\w)\]"']$/.test(line) ? `${line},` : null);

/** A run of at least two context lines as one mark, on the given sides. */
function elided(mark, sides = ['old', 'new']) {
  return (change, chance) => {
    const { rows } = change;
    const starts = rows.flatMap((row, i) => (isContext(row) && rows[i + 1] && isContext(rows[i + 1]) ? [i] : []));
    const at = chance.pick(starts);
    if (at === undefined) return null;
    const indent = indentOf(rows[at].old);
    const [first, second] = [{ ...rows[at] }, { ...rows[at + 1] }];
    for (const side of sides) [first[side], second[side]] = [indent + mark, null];
    const edit = texts(change, [...rows.slice(0, at), first, second, ...rows.slice(at + 2)]);
    // Something has to be left to say where.
    return rows.filter((row) => row.old !== null && !isBlank(row.old)).length > 3 ? edit : null;
  };
}

/** A word of the context that loses a letter there and in a new line, which has it, too. */
function mistypedTwice(change, chance) {
  const words = (line) => line.match(/\b[A-Za-z]{7,}(?=\b|_)/g) ?? [];
  const { rows } = change;
  const added = rows.filter((row) => isAdded(row) && !isBlank(row.new));
  const row = chance.pick(awayRows(rows).filter((one) => words(one.old).length > 0));
  const last = chance.pick(added);
  if (!row || !last) return null;
  const word = chance.pick(words(row.old));
  const wrong = word.slice(0, 3) + word.slice(4);
  const made = change.with({ rows: rows.map((one) => (one === last ? { ...one, new: `${one.new} ${word}` } : one)) });
  const typed = (one) => (one === row ? { ...row, old: row.old.replace(word, wrong), new: row.new.replace(word, wrong) } : one);
  const put = made.rows.map((one) => (isAdded(one) && one.new === `${last.new} ${word}` ? { ...one, new: `${last.new} ${wrong}` } : typed(one)));
  return { ...texts(made, put), change: made };
}

/** The change among three equal lines, of which old has two. */
function overlapping(change) {
  const line = '<li>same line</li>';
  const row = (old, fresh) => ({ kind: fresh === null ? '-' : old === null ? '+' : ' ', old, new: fresh });
  const made = change.with({ rows: [row(line, line), row(line, null), row(null, '<li>new line</li>'), row(line, line)] });
  return { ...texts(made, made.rows.slice(0, 3)), change: made };
}

function swapped(change, chance) {
  const { rows } = change;
  const isPair = (row, i) => i > 0 && isContext(row) && isContext(rows[i - 1]) && row.old !== rows[i - 1].old;
  const at = chance.pick(rows.flatMap((row, i) => (isPair(row, i) ? [i] : [])));
  if (at === undefined) return null;
  return texts(change, [...rows.slice(0, at - 1), rows[at], rows[at - 1], ...rows.slice(at + 1)]);
}

function repeated(rowsOf) {
  return (change, chance) => {
    const row = chance.pick(rowsOf(change.rows));
    return row ? texts(change, change.rows.flatMap((one) => (one === row ? [one, one] : [one]))) : null;
  };
}

/** Numbers before the lines of both texts, each counted by its own file. */
function numbered(prefix, sides = ['old', 'new']) {
  return (change) => {
    const first = change.head.split('\n').length;
    const edit = texts(change);
    for (const side of sides) {
      const lines = edit[side].split('\n');
      const last = lines.at(-1) === '' ? lines.pop() : null;
      edit[side] = lines.map((line, i) => prefix(first + i) + line).join('\n') + (last === null ? '' : '\n');
    }
    return edit;
  };
}

function marked(prefix) {
  return (change) => texts(change, mapped(change.rows, () => true, (line, row) => prefix(row) + line));
}

/** The first line begins, or the last one ends, in its middle. */
function cut(side) {
  return (change) => {
    const { rows } = change;
    const row = side === 'first' ? rows[0] : rows.at(-1);
    if (!isContext(row) || row.old.length < 12) return null;
    const at = row.old.indexOf(' ', row.old.length / 2);
    if (at < 0) return null;
    const part = side === 'first' ? row.old.slice(at + 1) : row.old.slice(0, at);
    const { old, new: fresh } = texts(change, rows.map((one) => (one === row ? { ...row, old: part, new: part } : one)));
    const end = (text) => (side === 'last' && text.endsWith('\n') ? text.slice(0, -1) : text);
    return { old: end(old), new: end(fresh) };
  };
}

/** The file has the new text, and the edit comes again. */
function again(edit) {
  return (change, chance) => {
    const made = edit(change, chance);
    return made && { ...made, text: change.after, accepts: [] };
  };
}

const toCrlf = (text) => text.replaceAll('\n', '\r\n');

function crlfFile(edit) {
  return (change) => {
    if (change.mixed || change.end === '\r\n') return null;
    const made = change.with({ head: toCrlf(change.head), tail: toCrlf(change.tail), end: '\r\n' });
    return { ...edit(texts(change)), change: made };
  };
}

const endingInCr = (plain) => ({ old: toCrlf(plain.old).replace(/\n$/, ''), new: plain.new.replace(/\n$/, '') });

/** Some lines of the file end in CRLF; of those that come, either end is right. */
function mixedFile(change, chance) {
  if (change.mixed || change.end === '\r\n') return null;
  const some = (text) => text.replaceAll('\n', () => (chance.below(3) === 0 ? '\r\n' : '\n'));
  const [head, tail] = [some(change.head), some(change.tail)];
  const hasCr = new Set(change.rows.filter((row) => !isAdded(row) && chance.below(2) === 0));
  const rows = mapped(change.rows, (row) => hasCr.has(row), (line) => `${line}\r`);
  const made = change.with({ head, tail, rows, mixed: true });
  if (!made.before.includes('\r') || made.isOpen) return null;
  const count = { head: head.split('\n').length - 1, all: rows.filter((row) => row.new !== null) };
  const plain = (text) => text.split('\n').map((line, i) => (count.all[i - count.head]?.kind === '+' ? line.replace(/\r$/, '') : line)).join('\n');
  return { ...texts(change), change: made, fits: (text) => plain(text) === plain(made.after) };
}

function withoutLastFeed(change) {
  const endsInContext = change.tail !== '' || isContext(change.rows.at(-1));
  if (change.end === '\r\n' || !endsInContext || !/\S\n$/.test(change.before)) return null;
  const made = change.with(change.tail === '' ? { isOpen: true } : { tail: change.tail.replace(/\n$/, '') });
  return { ...texts(change), change: made };
}

const fence = (text) => `\`\`\`\n${text}${text.endsWith('\n') ? '' : '\n'}\`\`\`\n`;

/** Both texts without blanks at their ends, where these are no part of the change. */
export const stripped = ({ old, new: fresh }, change) => {
  const written = change.rows.filter((row) => !isBlank(row.old ?? row.new));
  const edges = [change.rows[0], change.rows.at(-1), written[0], written.at(-1)];
  const isPlain = edges.every((row) => row && isContext(row));
  return isPlain ? { old: old.trim(), new: fresh.trim() } : null;
};

export const LINES = [
  { name: 'as it is', mark: 'apply', make: (change) => ({ old: change.side('old'), new: change.side('new') }) },
  { name: 'a run of context as ...', mark: 'may', make: elided('...') },
  { name: 'a run as // ... existing code ...', mark: 'may', make: elided('// ... existing code ...') },
  { name: 'a run as # ... rest of code unchanged', mark: 'may', make: elided('# ... rest of code unchanged') },
  { name: 'a run as // ... existing code ... in new only', mark: 'keep', literal: false, make: elided('// ... existing code ...', ['new']) },
  { name: 'a run as // ... in new only', mark: 'keep', literal: false, make: elided('// ...', ['new']) },
  { name: 'a run as # [...] in new only', mark: 'keep', literal: false, make: elided('# [...]', ['new']) },
  { name: 'a context line left out of both', mark: 'may', make: leftOut(filled(contexts)) },
  { name: 'a comment of the context left out of both', mark: 'may', make: leftOut((rows) => contexts(rows).filter(isComment)) },
  { name: 'a context line left out of old only', mark: 'keep', make: leftOut(filled(contexts), ['old']) },
  { name: 'a comment of the context left out of old only', mark: 'keep', make: leftOut((rows) => contexts(rows).filter(isComment), ['old']) },
  { name: 'a removed line left out', mark: 'refuse', make: leftOut(filled(removed)) },
  { name: 'a letter lost in a context line', mark: 'apply', make: oneLine(awayRows, loseLetter) },
  { name: 'a letter lost beside the change', mark: 'may', make: oneLine(nextRows, loseLetter) },
  { name: 'a word mistyped in a context line and in a new one', mark: 'keep', make: mistypedTwice },
  { name: 'a letter lost in a context line of old only', mark: 'keep', make: oneLine(contexts, loseLetter, ['old']) },
  { name: 'other case in a context line', mark: 'apply', make: oneLine(awayRows, otherCase) },
  { name: 'letters swapped in a context line', mark: 'apply', make: oneLine(awayRows, swappedLetters) },
  { name: 'an end mark more or less on a context line', mark: 'apply', make: oneLine(awayRows, endMark) },
  { name: 'another word in a context line', mark: 'may', make: oneLine(awayRows, otherWord) },
  { name: 'a letter lost in a removed line', mark: 'refuse', make: oneLine(removed, loseLetter) },
  { name: 'letters swapped in a removed line', mark: 'refuse', make: oneLine(removed, swappedLetters) },
  { name: 'another digit in a removed line', mark: 'refuse', make: oneLine(removed, otherDigit) },
  { name: 'another word in a removed line', mark: 'refuse', make: oneLine(removed, otherWord) },
  { name: 'an end mark more or less on a removed line', mark: 'refuse', make: oneLine(removed, endMark) },
  { name: 'a backslash at the end of a quoted line', mark: 'refuse', make: oneLine(quoted, goesOn) },
  { name: 'two context lines swapped', mark: 'may', make: swapped },
  { name: 'a context line twice', mark: 'may', make: repeated(filled(contexts)) },
  { name: 'two of three equal lines', mark: 'refuse', literal: false, make: overlapping },
  { name: 'numbers: 12<TAB>', mark: 'apply', make: numbered((n) => `${n}\t`) },
  { name: 'numbers: as cat -n', mark: 'apply', make: numbered((n) => `${String(n).padStart(6)}\t`) },
  { name: 'numbers: 12\u2192', mark: 'apply', make: numbered((n) => `${String(n).padStart(6)}\u2192`) },
  { name: 'numbers: L12: ', mark: 'apply', make: numbered((n) => `L${n}: `) },
  { name: 'numbers: 12: ', mark: 'apply', make: numbered((n) => `${n}: `) },
  { name: 'numbers: 12 | ', mark: 'apply', make: numbered((n) => `${n} | `) },
  { name: 'numbers: 12:', mark: 'apply', make: numbered((n) => `${n}:`) },
  { name: 'numbers: 12|', mark: 'apply', make: numbered((n) => `${n}|`) },
  { name: 'numbers: 12: in old only', mark: 'apply', make: numbered((n) => `${n}: `, ['old']) },
  { name: 'marks of a diff', mark: 'may', make: marked((row) => row.kind) },
  { name: 'marks of a quotation', mark: 'may', make: marked(() => '> ') },
  { name: 'in a fence', mark: 'may', make: wholeTexts(eachText(fence)) },
  { name: 'a line feed before', mark: 'apply', make: wholeTexts(eachText((text) => `\n${text}`)) },
  { name: 'a line feed more after', mark: 'apply', make: wholeTexts(eachText((text) => `${text}\n`)) },
  { name: 'two line feeds more after', mark: 'apply', make: wholeTexts(eachText((text) => `${text}\n\n`)) },
  { name: 'a line feed more after old only', mark: 'keep', make: wholeTexts(({ old, new: fresh }) => ({ old: `${old}\n`, new: fresh })) },
  { name: 'both ends stripped', mark: 'apply', make: wholeTexts(stripped) },
  { name: 'the first line cut', mark: 'may', make: cut('first') },
  { name: 'the last line cut', mark: 'may', make: cut('last') },
  { name: 'CRLF file, LF in both', mark: 'apply', make: crlfFile((plain) => plain) },
  { name: 'CRLF file, CRLF in old only', mark: 'may', make: crlfFile((plain) => ({ old: toCrlf(plain.old), new: plain.new })) },
  { name: 'CRLF file, old ends in CR', mark: 'may', make: crlfFile(endingInCr) },
  { name: 'LF file, CRLF in both', mark: 'apply', make: wholeTexts(eachText(toCrlf)) },
  { name: 'CR in both', mark: 'may', make: wholeTexts(eachText((text) => text.replaceAll('\n', '\r'))) },
  { name: 'file with CRLF and LF, LF in both', mark: 'may', make: mixedFile },
  { name: 'file without a last line feed', mark: 'apply', make: withoutLastFeed },
  { name: 'applied already', mark: 'refuse', make: again((change) => ({ old: change.side('old'), new: change.side('new') })) },
  { name: 'applied already, common indentation removed', mark: 'refuse', make: again((change) => dedented(change)) },
  { name: 'applied already, a letter lost', mark: 'refuse', make: again(oneLine(awayRows, loseLetter)) },
  { name: 'applied already, two blanks after each line', mark: 'refuse', make: again(everyLine(() => true, (line) => `${line}  `)) },
];

/** These take the changes with one line of context. */
export const SHORT = [
  { name: 'one line of context', mark: 'apply', make: (change) => texts(change) },
  { name: 'one line, common indentation removed', mark: 'may', make: (change) => dedented(change) },
  { name: 'one line, indentation removed', mark: 'may', make: everyLine(() => true, (line) => line.trimStart()) },
  { name: 'one line, a letter lost', mark: 'may', make: oneLine(contexts, loseLetter) },
  { name: 'one line, two blanks after it', mark: 'may', make: (change) => texts(change, mapped(change.rows, isContext, (line) => `${line}  `)) },
  { name: 'one line, left out of old only', mark: 'keep', make: leftOut(filled(contexts), ['old']) },
  { name: 'one line, a letter lost in a removed line', mark: 'refuse', make: oneLine(removed, loseLetter) },
  { name: 'one line, both escaped once more as JSON', mark: 'may', make: wholeTexts(eachText((text) => JSON.stringify(text).slice(1, -1))) },
  { name: 'one line, both ends stripped', mark: 'may', make: wholeTexts(stripped) },
  { name: 'one line, applied already', mark: 'refuse', make: again((change) => texts(change)) },
];
