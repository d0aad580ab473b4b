// Owns the kinds in which indentation, blanks and blank lines differ.

import {
  awayRows, depthsAreClear, everyLine, indentOf, isAdded, isBlank, isContext, isQuoted, isRemoved, mapped, nextRows,
  oneLine, texts, wholeTexts,
} from './rows.mjs';

const any = () => true;
const reindent = (change) => (line) => (isBlank(line) ? line : change(indentOf(line)) + line.slice(indentOf(line).length));

/** What all lines begin with but blank ones. */
export function indentOfAll(all) {
  const lines = all.filter((line) => line !== null && !isBlank(line));
  let common = indentOf(lines[0] ?? '');
  for (const line of lines) while (!line.startsWith(common)) common = common.slice(0, -1);
  return common;
}

export const commonIndent = (rows) => indentOfAll(rows.flatMap((row) => [row.old, row.new]));

export function dedented(change, rows = change.rows, sides = ['old', 'new']) {
  const common = commonIndent(rows);
  if (common === '') return null;
  const cut = (line) => (line === null ? null : line.startsWith(common) ? line.slice(common.length) : line.trimStart());
  return texts(change, rows.map((row) => ({ ...row, ...Object.fromEntries(sides.map((side) => [side, cut(row[side])])) })));
}

const isTabs = (indent) => /^\t*$/.test(indent);
const isUnits = (unit) => (indent) => /^ *$/.test(indent) && indent.length % unit === 0;
const clearIf = (isRegular) => (change) => (depthsAreClear(change, isRegular) ? 'apply' : 'may');

function scaled(from, to, isClear) {
  const rescaled = (indent) => indent.replaceAll(from, to);
  const disturb = everyLine(any, reindent(rescaled), (change) => (change.rows.every((row) => isClear(indentOf(row.old ?? row.new))) ? clearIf(isClear)(change) : 'may'));
  return (change) => {
    const indents = new Set(change.rows.map((row) => indentOf(row.old ?? row.new)));
    // Where two depths become one, no text tells which is meant.
    return new Set([...indents].map(rescaled)).size < indents.size ? null : disturb(change);
  };
}

function deeper(unit) {
  return (change) => {
    const rows = mapped(change.rows, any, reindent((indent) => unit(change) + indent));
    // Where nothing but brackets is quoted, they may be anywhere.
    return texts(change, rows);
  };
}

function ownUnit({ head, rows, tail }) {
  const text = head + rows.map((row) => row.old ?? '').join('\n') + tail;
  return /^\t/m.test(text) ? '\t' : /^ {2}\S/m.test(text) ? '  ' : '    ';
}

function firstLineStripped(change) {
  if (change.rows[0].kind !== ' ' || isBlank(change.rows[0].old)) return null;
  const first = change.rows[0];
  const rows = mapped(change.rows, (row) => row === first, (line) => line.trimStart());
  return first.old === first.old.trimStart() ? null : texts(change, rows);
}

/** Blank rows of the context left out; the mark says whether one of them was beside the change. */
function blankContextLeftOut(rowsOf) {
  return (change) => {
    const gone = new Set(rowsOf(change.rows).filter((row) => isBlank(row.old)));
    const rows = change.rows.filter((row) => !gone.has(row));
    if (gone.size === 0 || rows.every((row) => row.old === null)) return null;
    return texts(change, rows);
  };
}

function allBlankLeftOut(change) {
  const isGone = (row) => isBlank(row.old ?? row.new);
  if (change.rows.some((row) => isRemoved(row) && isGone(row)) || !change.rows.some(isGone)) return null;
  const rows = change.rows.filter((row) => !isGone(row));
  if (!rows.some(isQuoted) || !rows.some((row) => !isContext(row))) return null;
  const without = change.with({ rows: change.rows.filter((row) => !(isAdded(row) && isGone(row))) });
  return { ...texts(change, rows), accepts: [change.after, without.after] };
}

function blankAdded(isMeant) {
  return (change, chance) => {
    const { rows } = change;
    const gaps = rows.flatMap((row, i) => (i > 0 && isContext(row) && isContext(rows[i - 1]) && isMeant(rows, i) ? [i] : []));
    const at = chance.pick(gaps);
    if (at === undefined) return null;
    const away = awayRows(rows);
    // A blank line more beside a blank one beside the change has two places.
    const isClear = [rows[at - 1], rows[at]].every((row) => !isBlank(row.old) || away.includes(row));
    return { ...texts(change, [...rows.slice(0, at), { kind: ' ', old: '', new: '' }, ...rows.slice(at)]), mark: isClear ? 'apply' : 'may' };
  };
}

const besideBlank = (rows, i) => isBlank(rows[i].old) || isBlank(rows[i - 1].old);

/** The words of neighbouring lines of prose in the context, broken elsewhere. */
function rewrapped(change, chance) {
  const { rows } = change;
  const isProse = ({ kind, old }) => {
    const letters = kind === ' ' && /^\s*[A-Za-z]/.test(old) ? old.replace(/[^A-Za-z ]/g, '') : '';
    return letters.length > 0.9 * old?.length && letters.trim().split(' ').length > 4;
  };
  const at = chance.pick(rows.flatMap((row, i) => (isProse(row) && rows[i + 1] && isProse(rows[i + 1]) ? [i] : [])));
  if (at === undefined) return null;
  const indent = indentOf(rows[at].old);
  const words = `${rows[at].old} ${rows[at + 1].old}`.trim().split(/\s+/);
  const cut = 1 + chance.below(words.length - 1);
  const lines = [words.slice(0, cut), words.slice(cut)].map((part) => indent + part.join(' '));
  if (lines[0] === rows[at].old) return null;
  const put = lines.map((line) => ({ kind: ' ', old: line, new: line }));
  return texts(change, [...rows.slice(0, at), ...put, ...rows.slice(at + 2)]);
}

function innerBlank(disturb) {
  return (line, chance) => {
    const places = [...line.matchAll(/(?<=\S) (?=\S)/g)].map((match) => match.index);
    const at = chance.pick(places);
    return at === undefined ? null : disturb(line, at);
  };
}

const more = (line, at) => `${line.slice(0, at)} ${line.slice(at)}`;
const less = (line, at) => line.slice(0, at) + line.slice(at + 1);
const noBreak = (line) => line.replaceAll(' ', '\u00a0');
const noBreakInside = (line) => indentOf(line) + noBreak(line.slice(indentOf(line).length));

/** The changed lines with other blanks beside their signs, each of which may come out as the file has it or as it is told. */
function otherGaps(disturb) {
  return (change) => {
    const { rows } = change;
    const told = mapped(rows, (row) => !isContext(row), (line) => indentOf(line) + disturb(line.trim()));
    const removed = told.filter(isRemoved);
    const differs = removed.some((row) => !rows.some((one) => isRemoved(one) && one.old === row.old));
    // Where a line differs from another in such blanks alone, the change is not in the texts any more.
    const hides = removed.some((row) => told.some((one) => isAdded(one) && one.new.trim() === row.old.trim()));
    if (change.mixed || !differs || hides) return null;
    const lines = rows.flatMap((row, i) => (row.new === null ? [] : [[row.new, told[i].new]]));
    const fits = (after) => {
      const isAround = after.startsWith(change.head) && after.endsWith(change.tail) && after.length >= change.head.length + change.tail.length;
      const made = after.slice(change.head.length, after.length - change.tail.length).split(change.end);
      if (made.at(-1) === '' && made.length > lines.length) made.pop();
      return isAround && made.length === lines.length && made.every((line, i) => lines[i].includes(line));
    };
    return { ...texts(change, told), fits };
  };
}

const tight = (line) => line.replace(/ ?([=:,(){}<>[\]|+]) ?/g, '$1');
const wide = (line) => line.replace(/ ?([=:,()[\]]) ?/g, ' $1 ').trim();

/** A line that makes way for a blank one. */
function blankInstead(change, chance) {
  const [lines, { before, end }] = [change.before.split(change.end), change];
  const isMeant = (line, i) => !isBlank(line) && /\w \W|\W \w/.test(line.trim()) && i > 0 && i < lines.length - 2
    && !isBlank(lines[i - 1]) && !isBlank(lines[i + 1]) && before.split(line).length === 2;
  const line = change.mixed ? undefined : chance.pick(lines.filter(isMeant));
  const quoted = line && indentOf(line) + line.trim().replace(/(?<=\w) (?=\W)|(?<=\W) (?=\w)/, '');
  return quoted ? { old: `${quoted}\n`, new: '\n', accepts: [before.replace(line + end, () => end)] } : null;
}

/** The quoted lines half a unit deeper, and the new ones as deep as the file has them. */
function halfDeeper(change) {
  const by = ownUnit(change) === '    ' ? '  ' : ' ';
  // Where a new line is aligned with something, its depth is any.
  const isOne = (row) => isUnits(ownUnit(change).length)(indentOf(row.new));
  if (ownUnit(change) === '\t' || !change.rows.filter(isAdded).every(isOne)) return null;
  return texts(change, mapped(change.rows, isQuoted, reindent((indent) => by + indent)));
}

/** A file whose lines there are indented by wide blanks, which both texts lack. */
function wideIndentation(change) {
  const indented = (line) => (line === null || isBlank(line) ? line : `\u3000\u3000${line.trimStart()}`);
  const made = change.with({ rows: change.rows.map((row) => ({ ...row, old: indented(row.old), new: indented(row.new) })) });
  const bare = mapped(made.rows, any, (line) => line.replace(/^\u3000+/, ''));
  return { ...texts(made, bare), change: made };
}

export const BLANKS = [
  { name: 'common indentation removed', mark: 'apply', make: (change) => dedented(change) },
  { name: 'common indentation removed from old only', mark: 'may', make: (change) => dedented(change, change.rows, ['old']) },
  { name: 'all indentation removed', mark: 'may', make: everyLine(any, (line) => line.trimStart()) },
  { name: 'first line without its indentation', mark: 'apply', make: firstLineStripped },
  { name: 'everything a level deeper', mark: 'apply', make: deeper(ownUnit) },
  { name: 'a blank before each line', mark: 'apply', make: deeper(() => ' ') },
  { name: 'tabs as four blanks', mark: 'apply', make: scaled('\t', '    ', isTabs) },
  { name: 'tabs as two blanks', mark: 'apply', make: scaled('\t', '  ', isTabs) },
  { name: 'tabs as eight blanks', mark: 'apply', make: scaled('\t', ' '.repeat(8), isTabs) },
  { name: 'tabs as four blanks in new only', mark: 'may', make: inNewOnly(reindent((indent) => indent.replaceAll('\t', '    '))) },
  { name: 'four blanks as a tab in new only', mark: 'may', make: inNewOnly(reindent((indent) => indent.replaceAll('    ', '\t'))) },
  { name: 'four blanks as a tab', mark: 'apply', make: scaled('    ', '\t', isUnits(4)) },
  { name: 'two blanks as a tab', mark: 'apply', make: scaled('  ', '\t', isUnits(2)) },
  { name: 'indentation halved', mark: 'apply', make: scaled('  ', ' ', isUnits(4)) },
  { name: 'indentation doubled', mark: 'apply', make: scaled(' ', '  ', isUnits(2)) },
  { name: 'trailing blanks lost', mark: 'apply', make: everyLine(isQuoted, (line) => line.replace(/[ \t]+$/, '')) },
  { name: 'two blanks after each context line', mark: 'apply', make: everyLine((row) => isContext(row) && !isBlank(row.old), (line) => `${line}  `) },
  { name: 'two blanks after each line', mark: 'may', make: everyLine(any, (line) => `${line}  `) },
  { name: 'blank context lines indented', mark: 'apply', make: everyLine((row) => isContext(row) && row.old === '', () => '    ') },
  { name: 'blank context lines away from the change left out', mark: 'apply', make: blankContextLeftOut(awayRows) },
  { name: 'blank context lines left out', mark: 'may', make: blankContextLeftOut((rows) => rows.filter(isContext)) },
  { name: 'all blank lines left out', mark: 'may', make: allBlankLeftOut },
  { name: 'a blank line added between context lines', mark: 'apply', make: blankAdded((rows, i) => !besideBlank(rows, i)) },
  { name: 'a blank line doubled in the context', mark: 'apply', make: blankAdded(besideBlank) },
  { name: 'a blank more within a context line', mark: 'apply', make: oneLine(awayRows, innerBlank(more)) },
  { name: 'a blank less within a context line', mark: 'apply', make: oneLine(awayRows, innerBlank(less)) },
  { name: 'a blank more beside the change', mark: 'may', make: oneLine(nextRows, innerBlank(more)) },
  { name: 'a blank more within a removed line', mark: 'keep', make: oneLine((rows) => rows.filter(isRemoved), innerBlank(more)) },
  { name: 'a blank less within a removed line', mark: 'refuse', make: oneLine((rows) => rows.filter(isRemoved), innerBlank(less)) },
  { name: 'no blanks beside signs in changed lines', mark: 'may', make: otherGaps(tight) },
  { name: 'blanks beside signs in changed lines', mark: 'may', make: otherGaps(wide) },
  { name: 'a line for which a blank one comes', mark: 'may', make: blankInstead },
  { name: 'quoted lines half a level deeper, not new ones', mark: 'may', make: halfDeeper },
  { name: 'wide blanks as indentation, in the file only', mark: 'may', make: wideIndentation },
  { name: 'no-break spaces in context lines', mark: 'may', make: everyLine(isContext, noBreak) },
  { name: 'no-break spaces within context lines', mark: 'apply', make: everyLine(isContext, noBreakInside) },
  { name: 'context prose wrapped otherwise', mark: 'may', make: rewrapped },
  { name: 'two context lines joined', mark: 'may', make: joined },
];

function inNewOnly(disturb) {
  return wholeTexts(({ old, new: fresh }) => ({ old, new: fresh.split('\n').map(disturb).join('\n') }));
}

function joined(change, chance) {
  const { rows } = change;
  const isPair = (row, i) => i > 0 && [row, rows[i - 1]].every((one) => isContext(one) && !isBlank(one.old));
  const at = chance.pick(rows.flatMap((row, i) => (isPair(row, i) ? [i] : [])));
  if (at === undefined) return null;
  const line = `${rows[at - 1].old} ${rows[at].old.trimStart()}`;
  return texts(change, [...rows.slice(0, at - 1), { kind: ' ', old: line, new: line }, ...rows.slice(at + 1)]);
}
