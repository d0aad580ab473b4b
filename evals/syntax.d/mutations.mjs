// Owns the ways to break a source file: each takes away or garbles what no grammar can do without.

/** What comments and strings look like, for each end of a name. */
const SLASH = { line: ['//'], block: [['/*', '*/']], quotes: ['"', "'", '`'] };
const HASH = { line: ['#'], block: [], quotes: ['"', "'"] };
const LANGUAGES = {
  rs: { ...SLASH, quotes: ['"'], keywords: ['fn', 'impl', 'struct', 'enum', 'mod', 'use'] },
  py: { ...HASH, block: [['"""', '"""'], ["'''", "'''"]], keywords: ['def', 'class', 'import', 'return', 'for', 'if'] },
  js: { ...SLASH, keywords: ['function', 'class', 'import'] },
  ts: { ...SLASH, keywords: ['function', 'import', 'interface', 'class'] },
  tsx: { ...SLASH, keywords: ['function', 'import', 'interface'] },
  go: { ...SLASH, keywords: ['func', 'import', 'type', 'package'] },
  c: { ...SLASH, quotes: ['"', "'"] },
  h: { ...SLASH, quotes: ['"', "'"] },
  cc: { ...SLASH, quotes: ['"', "'"] },
  java: { ...SLASH, quotes: ['"', "'"], keywords: ['import', 'package'] },
  cs: { ...SLASH, quotes: ['"', "'"], keywords: ['namespace', 'class'] },
  rb: { ...HASH, keywords: ['end'] },
  php: { ...SLASH, line: ['//', '#'], quotes: ['"', "'"], keywords: ['namespace'] },
  sh: { ...HASH, brackets: ['(', ')', '{', '}'], keywords: ['then', 'done', 'fi', 'esac'] },
  json: { line: [], block: [], quotes: ['"'] },
  yml: { ...HASH, brackets: [], takesStrayQuotes: true },
  toml: HASH,
  html: { line: [], block: [['<!--', '-->'], ['<script', '</script>'], ['<style', '</style>']], quotes: [], brackets: ['>'], takesStrayQuotes: true },
  css: { line: [], block: [['/*', '*/']], quotes: ['"', "'"], takesStrayQuotes: true },
};

export const ENDS = Object.keys(LANGUAGES);

const BRACKETS = ['(', ')', '[', ']', '{', '}'];

/** Marks each character that is code: 1, or 0 in a comment or a string; and how many brackets are open before it. */
function scan(text, { line, block, quotes }) {
  const code = new Uint8Array(text.length);
  const open = new Int32Array(text.length);
  let depth = 0;
  for (let i = 0; i < text.length; ) {
    let end = i;
    const comment = block.find(([start]) => text.startsWith(start, i));
    const quote = quotes.find((one) => text[i] === one);
    if (comment) end = after(text, comment[1], i + comment[0].length);
    else if (line.some((start) => text.startsWith(start, i))) end = after(text, '\n', i) - 1;
    else if (quote) end = endOfString(text, quote, i + 1);
    if (end > i) {
      open.fill(depth, i, end);
      i = end;
      continue;
    }
    if ('([{'.includes(text[i])) depth += 1;
    if (')]}'.includes(text[i])) depth -= 1;
    [code[i], open[i]] = [1, depth];
    i += 1;
  }
  return { code, open };
}

function after(text, end, from) {
  const at = text.indexOf(end, from);
  return at < 0 ? text.length : at + end.length;
}

function endOfString(text, quote, from) {
  let i = from;
  while (i < text.length && text[i] !== quote && (quote === '`' || text[i] !== '\n')) i += text[i] === '\\' ? 2 : 1;
  return Math.min(i + 1, text.length);
}

/** Takes the characters from `at` to `end` away, for `put`. */
function cut(text, at, end, put = '') {
  return { text: text.slice(0, at) + put + text.slice(end), line: text.slice(0, at).split('\n').length };
}

/** Lines of the preprocessor of C may hold anything. */
const DIRECTIVE = /^\s*#|\\$/;

function lineAround(text, at) {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, after(text, '\n', at)).trimEnd();
}

function lineStarts(text) {
  return [...text.matchAll(/^/gm)].map((found) => found.index);
}

const KINDS = {
  bracket(text, language, { code }, chance) {
    const brackets = language.brackets ?? BRACKETS;
    const places = Array.from({ length: text.length }, (_, i) => i);
    const at = chance.pick(places.filter((i) => code[i] && brackets.includes(text[i]) && !DIRECTIVE.test(lineAround(text, i))));
    return at === undefined ? null : cut(text, at, at + 1);
  },
  quote(text, language, { code }, chance) {
    const found = [...text.matchAll(/^[^"'`\n/#]*"(?:[^"'`\\\n/#]+)"[^"'`\n/#]*$/gm)];
    const at = chance.pick(found.map((one) => one.index + one[0].indexOf('"')).filter((i) => i === 0 || code[i - 1]));
    if (at === undefined) return null;
    const last = language.takesStrayQuotes || chance.below(2) ? text.indexOf('"', at + 1) : at;
    return cut(text, last, last + 1);
  },
  keyword(text, language, { code, open }, chance) {
    const words = language.keywords ?? [];
    const found = words.flatMap((word) => [...text.matchAll(new RegExp(`^[ \\t]*${word}\\b(?! *[:=,.(])`, 'gm'))].map((one) => ({ word, at: one.index + one[0].length - word.length })));
    const one = chance.pick(found.filter(({ at }) => code[at] && (words !== LANGUAGES.py.keywords || open[at] === 0)));
    return one ? cut(text, one.at, one.at + one.word.length, `${one.word[0]}${one.word}`) : null;
  },
  truncated(text, language, { code, open }, chance) {
    const starts = lineStarts(text).filter((at) => at > 0 && text[at - 2] !== '\n' && open[at - 1] > 0);
    const at = language.brackets ? undefined : chance.pick(starts);
    if (at === undefined) return null;
    let close = at;
    while (close < text.length && !(code[close] && open[close] < open[at - 1])) close += 1;
    const end = after(text, '\n', close);
    // What closes the block and opens the next one leaves as many brackets as there were.
    return end < text.length && open[end - 1] === open[at - 1] - 1 ? cut(text, at, end) : null;
  },
  indent(text, language, { code, open }, chance) {
    if (language !== LANGUAGES.py) return null;
    const starts = lineStarts(text).filter((at) => /^ {4,}\w/.test(text.slice(at, at + 80)) && code[at] && open[at] === 0);
    const at = chance.pick(starts);
    return at === undefined ? null : cut(text, at, at + (chance.below(2) ? 1 : 0), chance.below(2) ? '' : '   ');
  },
};

/** What programs wrote, and what is in another language than its name says: the check leaves out both. */
const LEFT_OUT = /@generated|DO NOT EDIT|Code generated by|auto-generated|\x1b\[|@flow/;

/** A file that is broken in one place, with the line and the kind; null if chance has found none. */
export function broken(text, end, chance) {
  const language = LANGUAGES[end];
  if (LEFT_OUT.test(text)) return null;
  const marks = scan(text, language);
  const kind = chance.pick(Object.keys(KINDS));
  const mutation = KINDS[kind](text, language, marks, chance);
  return mutation && mutation.text !== text ? { kind, old: text, ...mutation } : null;
}
