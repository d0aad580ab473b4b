// Owns the kinds in which characters differ: look-alikes and escapes.

import { everyLine, eachText, indentOf, isAdded, isBlank, isContext, isQuoted, isRemoved, texts, wholeTexts } from './rows.mjs';

const any = () => true;

/** Curly quotes as a word processor sets them. */
export function curly(line) {
  return line
    .replace(/(^|[\s([{=,:])"/g, '$1\u201c').replaceAll('"', '\u201d')
    .replace(/(^|[\s([{=,:])'/g, '$1\u2018').replaceAll("'", '\u2019');
}

const STRAIGHT = { '\u2018': "'", '\u2019': "'", '\u201c': '"', '\u201d': '"' };
const straight = (line) => line.replace(/[\u2018\u2019\u201c\u201d]/g, (c) => STRAIGHT[c]);
const dashes = (line) => line.replace(/[\u2010-\u2015\u2212]/g, '-');
const enDashes = (line) => line.replace(/(?<=\w)-(?=\w)/g, '\u2011').replace(/ - /g, ' \u2013 ');
const fullWidth = (line) => line.replaceAll(', ', '\uff0c').replaceAll('(', '\uff08').replaceAll(')', '\uff09');
const entities = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const quoteEntities = (text) => text.replaceAll('"', '&quot;').replaceAll("'", '&#39;');
const asJson = (text) => JSON.stringify(text).slice(1, -1);
const nonAscii = (line) => line.replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
const questionMarks = (line) => line.replace(/[^\0-\x7f]/gu, '?');
const latin1 = (line) => Buffer.from(line).toString('latin1');

const whole = (change) => { const { old, new: fresh } = texts(change); return `${old}\0${fresh}`; };

/** An escape that the texts had before makes two readings. */
const clearWithout = (pattern) => (change) => (pattern.test(whole(change)) ? 'may' : 'apply');

/** The first zero-width space in the middle of each line. */
function zeroWidth(line) {
  const at = Math.floor(line.length / 2);
  return line.trim() === '' ? line : `${line.slice(0, at)}\u200b${line.slice(at)}`;
}

/** A comment of the context with a character of typography, which is quoted in ASCII, and that ASCII in a new line. */
function quotedInAscii(written, quoted) {
  return (change, chance) => {
    const rows = [{ kind: ' ', old: `# ${written}`, new: `# ${written}` }, ...change.rows];
    const at = chance.pick(rows.flatMap((row, i) => (isAdded(row) && !isBlank(row.new) ? [i] : [])));
    if (at === undefined || whole(change).includes(written)) return null;
    const line = `${rows[at].new} # ${quoted}`;
    const made = change.with({ rows: rows.map((row, i) => (i === at ? { ...row, new: line } : row)) });
    const [first, ...rest] = made.rows;
    return { ...texts(made, [{ ...first, old: `# ${quoted}`, new: `# ${quoted}` }, ...rest]), change: made };
  };
}

/** A line that stays before the others, `written` in the file and `quoted` in both texts. */
function quotedBefore(written, quoted) {
  return (change) => {
    const made = change.with({ rows: [{ kind: ' ', old: written, new: written }, ...change.rows] });
    return { ...texts(made, [{ kind: ' ', old: quoted, new: quoted }, ...change.rows]), change: made };
  };
}

/** A removed line as it is `written` in the file, and as it is `quoted`. */
function removedAs(written, quoted) {
  return (change, chance) => {
    const row = chance.pick(change.rows.filter((one) => isRemoved(one) && !isBlank(one.old)));
    if (!row) return null;
    const put = (by) => change.rows.map((one) => (one === row ? { ...row, old: by(row.old) } : one));
    const made = change.with({ rows: put(written) });
    return { ...texts(made, put(quoted)), change: made };
  };
}

/** Only a line that makes way for one other, both as they are `written` in the file, and as they are `told`. */
function oneForOne(written, told) {
  return (change) => {
    const { rows } = change;
    const isAlone = (row, i) => isRemoved(row) && rows[i + 1] && isAdded(rows[i + 1]) && !isBlank(row.old) && !isBlank(rows[i + 1].new)
      && [rows[i - 1], rows[i + 2]].every((one) => !one || isContext(one));
    const at = rows.findIndex(isAlone);
    if (at < 0 || change.mixed) return null;
    const [gone, come] = [rows[at], rows[at + 1]];
    const only = rows.filter((row) => !isAdded(row) || row === come);
    const changed = { ' ': (row) => row, '-': (row, by) => (row === gone ? { ...row, old: by(row.old) } : { ...row, kind: ' ', new: row.old }), '+': (row, by) => ({ ...row, new: by(row.new) }) };
    const put = (by) => only.map((row) => changed[row.kind](row, by));
    const made = change.with({ rows: put(written) });
    return { ...texts(made, put(told)), change: made, lines: [gone.old, come.new] };
  };
}

/** The same, told as a part of the line that the file has with curly quotes: from there to `end`, which is before `behind`. */
function partOfLine(end, behind = '', more = '') {
  const written = (line) => `${indentOf(line)}alpha \u201cx\u201d ${line.trim()}${end}${behind}`;
  const made = oneForOne(written, written);
  return (change) => {
    const edit = made(change);
    // How deep the line is then is not said.
    if (!edit || indentOf(edit.lines[0]) !== indentOf(edit.lines[1])) return null;
    const [old, fresh] = edit.lines.map((line) => `"x" ${line.trim()}${end}`);
    const line = written(edit.lines[1]);
    const accepts = [edit.change.after.replace(line, () => line.replace(behind, () => `${more.replaceAll('\n', change.end)}${behind}`))];
    return { old, new: fresh + more, change: edit.change, accepts, isOpen: true };
  };
}

const signs = (sign) => (line) => `${line} # 25${sign}`;
const atStart = (c, end = '') => (line) => `${indentOf(line)}${c}${line.trimStart()}${end}`;

/** A line that stays, as it is in new, and with its escapes escaped once more in old. */
function escapedInOldOnly(written, escaped) {
  return (change) => {
    const row = { kind: ' ', old: written, new: written };
    const made = change.with({ rows: [row, ...change.rows] });
    return { ...texts(made, [{ ...row, old: escaped }, ...change.rows]), change: made };
  };
}

/** Both texts in another notation; one of the new lines gets a character that only a stricter one escapes. */
function escapedFurther(disturb, written, escaped) {
  return (change, chance) => {
    const at = chance.pick(change.rows.flatMap((row, i) => (isAdded(row) && !isBlank(row.new) ? [i] : [])));
    if (at === undefined || whole(change).includes('\\')) return null;
    const made = change.with({ rows: change.rows.map((row, i) => (i === at ? { ...row, new: row.new + written } : row)) });
    const plain = texts(change);
    const { old, new: fresh } = texts(made);
    const edit = { old: disturb(old), new: disturb(fresh).replaceAll(written, escaped) };
    return disturb(plain.old) === plain.old ? null : { ...edit, change: made };
  };
}

const oldOnly = (disturb) => ({ old, new: fresh }) => ({ old: disturb(old), new: fresh });
const newlines = (text) => text.replace(/\n(?!$)/g, '\\n');
const unescaped = (text) => text.replaceAll('\\n', '\n').replaceAll('\\t', '\t');

export const CHARACTERS = [
  { name: 'curly quotes in context lines', mark: 'apply', make: everyLine(isContext, curly) },
  { name: 'curly quotes in removed lines', mark: 'apply', make: everyLine(isRemoved, curly) },
  { name: 'curly quotes everywhere', mark: 'may', make: everyLine(any, curly) },
  { name: 'straight quotes for curly ones', mark: 'apply', make: everyLine(isQuoted, straight) },
  { name: 'hyphens for dashes', mark: 'apply', make: everyLine(isQuoted, dashes) },
  { name: 'dashes for hyphens in context lines', mark: 'apply', make: everyLine(isContext, enDashes) },
  { name: 'an ellipsis character for three dots', mark: 'apply', make: everyLine(isContext, (line) => line.replaceAll('...', '\u2026')) },
  { name: 'decomposed letters', mark: 'apply', make: everyLine(isQuoted, (line) => line.normalize('NFD')) },
  { name: 'zero-width spaces in context lines', mark: 'apply', make: everyLine(isContext, zeroWidth) },
  { name: 'a byte order mark before', mark: 'apply', make: wholeTexts(eachText((text) => `\ufeff${text}`)) },
  { name: 'full-width punctuation in context lines', mark: 'may', make: everyLine(isContext, fullWidth) },
  { name: 'full-width punctuation everywhere', mark: 'may', make: everyLine(any, fullWidth) },
  { name: 'a line separator at the end of both', mark: 'may', make: wholeTexts(eachText((text) => text.replace(/\n?$/, '\u2028$&'))) },
  { name: 'other letters than ASCII as \\uXXXX', mark: 'may', make: everyLine(isQuoted, nonAscii) },
  { name: 'other letters than ASCII as question marks', mark: 'may', make: everyLine(isContext, questionMarks) },
  { name: 'UTF-8 read as Latin-1 in context lines', mark: 'may', make: everyLine(isContext, latin1) },
  { name: 'line feeds as \\n', mark: 'apply', make: wholeTexts(eachText(newlines), clearWithout(/\\/)) },
  { name: 'line feeds as \\n in old only', mark: 'may', make: wholeTexts(oldOnly(newlines)) },
  { name: 'tabs as \\t', mark: 'apply', make: wholeTexts(eachText((text) => text.replaceAll('\t', '\\t')), clearWithout(/\\/)) },
  { name: 'both escaped once more as JSON', mark: 'apply', make: wholeTexts(eachText(asJson)) },
  { name: 'old escaped once more as JSON', mark: 'may', make: wholeTexts(oldOnly(asJson)) },
  { name: 'quotes as \\"', mark: 'apply', make: wholeTexts(eachText((text) => text.replaceAll('"', '\\"')), clearWithout(/\\/)) },
  { name: "single quotes as \\'", mark: 'apply', make: wholeTexts(eachText((text) => text.replaceAll("'", "\\'")), clearWithout(/\\/)) },
  { name: 'dollars as \\$', mark: 'may', make: wholeTexts(eachText((text) => text.replaceAll('$', '\\$'))) },
  { name: 'backslashes doubled', mark: 'apply', make: wholeTexts(eachText((text) => text.replaceAll('\\', '\\\\'))) },
  { name: 'escapes resolved that the file has', mark: 'may', make: wholeTexts(eachText(unescaped)) },
  { name: '& < > as entities', mark: 'apply', make: wholeTexts(eachText(entities), clearWithout(/&\w+;/)) },
  { name: 'quotes as entities', mark: 'apply', make: wholeTexts(eachText(quoteEntities), clearWithout(/&#?\w+;/)) },
  { name: "' for \u2019 in the context, and ' in a new line", mark: 'apply', make: quotedInAscii('Don\u2019t', "Don't") },
  { name: 'digits for superscript ones in a removed line', mark: 'refuse', make: removedAs(signs('\u00b3'), signs('3')) },
  { name: 'digits for circled ones in a removed line', mark: 'refuse', make: removedAs(signs('\u2460'), signs('1')) },
  { name: '\u00b0C for \u2103 in a changed line', mark: 'may', make: oneForOne(signs('\u2103'), signs('\u00b0C')) },
  { name: 'an emoji without its variation selector', mark: 'apply', make: quotedBefore('# \u26a0\ufe0f note', '# \u26a0 note') },
  { name: 'an emoji with a variation selector more', mark: 'apply', make: quotedBefore('# \u26a0 note', '# \u26a0\ufe0f note') },
  { name: 'marks of direction left out', mark: 'apply', make: quotedBefore('# \u2066note\u2069', '# note') },
  { name: 'an invisible character at the end of a changed line left out', mark: 'may', make: oneForOne((line) => `${line}\u200f`, (line) => line) },
  { name: 'a line separator before a changed line, and two blanks after it', mark: 'may', make: oneForOne(atStart('\u2028'), atStart('\u2028', '  ')) },
  { name: 'a part of a line with an invisible character at its end', mark: 'apply', make: partOfLine('\u200f') },
  { name: 'a part of a line, and a line feed more after new', mark: 'may', make: partOfLine('', ' and more', '\n') },
  { name: '- for \u2013 in the context, and - in a new line', mark: 'apply', make: quotedInAscii('pages 3\u20135', 'pages 3-5') },
  { name: '1 for \uff11 in the context, and 1 in a new line', mark: 'apply', make: quotedInAscii('\u624b\u9806 \uff11', '\u624b\u9806 1') },
  { name: '... for \u2026 in the context, and ... in a new line', mark: 'apply', make: quotedInAscii('wait\u2026', 'wait...') },
  { name: 'a line with backslashes, doubled in old only', mark: 'keep', make: escapedInOldOnly("sep = '\\\\'", "sep = '\\\\\\\\'") },
  { name: 'a line with \\n, escaped in old only', mark: 'keep', make: escapedInOldOnly('print("x\\n")', 'print("x\\\\n")') },
  { name: 'a line with an entity, escaped in old only', mark: 'keep', make: escapedInOldOnly('<i>a &amp; b</i>', '<i>a &amp;amp; b</i>') },
  { name: 'quotes as entities, and another one in a new line', mark: 'keep', make: escapedFurther(quoteEntities, '\u00a7', '&#xa7;') },
  { name: 'line feeds as \\n, and \\u00eb in a new line', mark: 'keep', make: escapedFurther(newlines, '\u00eb', '\\u00eb') },
];
