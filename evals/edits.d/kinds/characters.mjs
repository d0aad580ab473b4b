// Owns the kinds in which characters differ: look-alikes and escapes.

import { everyLine, eachText, isContext, isQuoted, isRemoved, texts, wholeTexts } from './rows.mjs';

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
];
