// Shows the session of this page. Every text of it becomes a text node: nothing of it is markup.
'use strict';

const session = JSON.parse(document.getElementById('session').textContent);

const TITLE_CHARS = 80;
// A longer prompt is folded: it may be the diff of a whole branch.
const PROMPT_CHARS = 1500;
// Longer paragraphs, and deeper lists and quotes, are shown as they are written.
const PARAGRAPH_CHARS = 20000;
const DEPTH = 12;

/** An element with attributes and children, which are elements or texts. */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== false) element.setAttribute(key, value === true ? '' : value);
  element.append(...children.flat(Infinity));
  return element;
}

const oneLine = (text) => text.trim().replace(/[\n\t]/g, ' ');

const list = (rows) => el('dl', {}, rows.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));

/** Text with its line breaks. The direction is that of its first letter. */
const block = (kind, text) => [el('div', { class: kind, dir: 'auto' }, text)];

const fold = (summary, content) => el('details', {}, el('summary', {}, summary), content);

const words = (text) => [el('div', { class: 'markdown', dir: 'auto' }, markdown(text))];

function listing(heading, text) {
  if (text === '') return [];
  return [el('h3', {}, heading), el('pre', { tabindex: 0 }, el('code', {}, text))];
}

function diff(text) {
  let isHead = true;
  const lines = text.replace(/\n$/, '').split('\n').map((line) => {
    isHead &&= !line.startsWith('@@');
    // The names of the files look like lines that are removed and added.
    const kind = isHead ? 'f' : { '+': 'a', '-': 'r', '@': 'h' }[line[0]];
    return el('span', kind ? { class: kind } : {}, line);
  });
  return [el('h3', {}, 'Diff'), el('pre', { class: 'diff', tabindex: 0 }, el('code', {}, lines))];
}

function call(entry) {
  const isGood = entry.state === 'success' && entry.command_failure === null;
  const how = entry.command_failure ? ` ${oneLine(entry.command_failure)}` : '';
  const lines = entry.lines ? ` +${entry.lines[0]} -${entry.lines[1]}` : '';
  const summary = el(
    'summary',
    {},
    isGood ? el('span', { class: 'good' }, '✓') : el('b', {}, `✗${how}`),
    ' ',
    el('code', {}, oneLine(entry.name)),
    ` ${oneLine(entry.description)} `,
    el('span', { class: 'soft' }, `${entry.duration}${lines}`),
  );
  // What was changed is what a reader looks for.
  return el(
    'details',
    { class: isGood ? false : 'bad', open: entry.diff !== null },
    summary,
    list([['State', entry.state], ['Decision', entry.decision ?? 'none'], ['Duration', entry.duration]]),
    entry.diff ? diff(entry.diff) : [],
    entry.display ? display(entry.display) : [],
    listing('Arguments', entry.args),
    listing(entry.state !== 'success' ? 'Error' : 'Output', entry.output),
  );
}

/** What the tool shows people: Markdown, or text as it is. */
function display({ markdown: text = '', plain = '' }) {
  return [
    el('h3', {}, 'Display'),
    ...(text === '' ? [] : words(text)),
    ...(plain === '' ? [] : [el('pre', { tabindex: 0 }, el('code', {}, plain))]),
  ];
}

const SHOWN = {
  prompt: ({ text }) => {
    const chars = [...text].length;
    const shown = block('text prompt', text);
    return [el('h2', {}, 'Prompt'), chars > PROMPT_CHARS ? fold(`${chars} characters`, shown) : shown];
  },
  turn: ({ number }) => [el('h2', {}, `Turn ${number}`)],
  text: ({ text }) => words(text),
  thought: ({ subject, description }) => [fold(oneLine(subject) || 'Thoughts', block('text soft', description))],
  used: ({ duration, prompt, candidates }) => [el('p', { class: 'soft' }, `${duration}, ${prompt} tokens in, ${candidates} tokens out`)],
  call: (entry) => [call(entry)],
  warning: ({ text }) => block('text warn', text),
};

/** The model's last words: no call or turn comes after them. */
function answer() {
  const { entries, error } = session;
  const from = entries.findLastIndex(({ type }) => ['call', 'turn'].includes(type));
  const at = entries.findLastIndex(({ type }) => type === 'text');
  return error === null && at > from ? entries[at] : undefined;
}

const span = (ms) => (ms < 1000 ? `${ms}ms` : `${(ms / 1000).toFixed(1)}s`);

/** The names and values at the top of the page, in their order. */
function totals() {
  const { stats, started, duration, model, turns, undo } = session;
  const { totalCalls, totalFail } = stats.tools;
  const failed = Object.values(session.failed_commands).reduce((all, count) => all + count, totalFail);
  const { totalLinesAdded, totalLinesRemoved } = stats.files;
  const sum = (key) => Object.values(stats.models).reduce((all, { tokens }) => all + tokens[key], 0);
  return [
    ['Started', started === null ? null : `${started.slice(0, 19).replace('T', ' ')} UTC`],
    ['Duration', duration],
    ['Model', model],
    ['Session', session.session],
    ['Turns', turns],
    ['Calls', `${totalCalls}, of which ${failed} failed`],
    ['Tokens in', `${sum('prompt')}, of which ${sum('cached')} cached`],
    ['Tokens out', `${sum('candidates')}, and ${sum('thoughts')} of thoughts`],
    ['Tokens in total', sum('total')],
    ['Lines', `+${totalLinesAdded} -${totalLinesRemoved}`],
    ['Undo', undo],
  ];
}

function show() {
  const prompt = session.entries.find(({ type }) => type === 'prompt');
  const line = oneLine((prompt?.text.trim() || 'A session').split('\n')[0]);
  const chars = [...line];
  document.title = chars.slice(0, TITLE_CHARS).join('') + (chars.length > TITLE_CHARS ? '…' : '');
  const { error, stats, left_out: leftOut } = session;
  const last = answer();
  const rows = totals().filter(([, value]) => value !== null && value !== '');
  const tools = Object.entries(stats.tools.byName).map(([name, { count, fail, durationMs }]) => [name, count, fail + session.failed_commands[name], span(durationMs)]);
  document.body.append(
    el('h1', {}, document.title),
    error ? el('div', { class: 'bad text' }, error) : el('p', { class: 'good' }, 'Completed.'),
    list(rows.map(([name, value]) => [name, name === 'Undo' ? el('code', {}, value) : value])),
    ...(last ? [el('h2', {}, 'Answer'), ...words(last.text)] : []),
    ...(tools.length > 0 ? [table(['Tool', 'Calls', 'Failed', 'Time'], tools.map(([name, ...rest]) => [el('code', {}, oneLine(name)), ...rest]))] : []),
    ...session.entries.flatMap((entry) => (entry === last ? el('p', { class: 'cut' }, 'The answer is at the top of this page.') : SHOWN[entry.type](entry))).flat(),
    ...(leftOut > 0 ? [el('p', { class: 'cut' }, `There was no room for ${leftOut} more entries.`)] : []),
  );
}

function table(head, rows) {
  const cells = (kind, row) => el('tr', {}, row.map((cell) => el(kind, {}, cell)));
  const body = rows.map((row) => cells('td', row));
  return el('div', { class: 'table', tabindex: 0 }, el('table', {}, el('thead', {}, cells('th', head)), el('tbody', {}, body)));
}

const ITEM = /^( *)(?:[-*+]|(\d{1,9})[.)]) +(.*)$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const HEADING = /^ {0,3}(#{1,6}) +(.*?) *#*$/;
const DASHES = /^ *\|?(?: *:?-+:? *\|)+ *(?::?-+:? *)?$/;

const begins = (line) => FENCE.test(line) || RULE.test(line) || HEADING.test(line) || ITEM.test(line) || /^ {0,3}>/.test(line);

/** The elements of a text in Markdown: of what models write, and nothing that loads or runs. */
function markdown(text, depth = 0) {
  if (depth > DEPTH) return [el('p', {}, text)];
  const lines = text.split('\n');
  const out = [];
  const taken = (at, test) => {
    let end = at;
    while (end < lines.length && test(lines[end], end)) end += 1;
    return end;
  };
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const fence = FENCE.exec(line)?.[1];
    const heading = HEADING.exec(line);
    let end = at + 1;
    if (line.trim() === '') {
      at = end;
      continue;
    }
    if (fence) {
      end = taken(end, (l) => !(l.trim().startsWith(fence) && l.trim().replaceAll(fence[0], '') === ''));
      const code = lines.slice(at + 1, end).join('\n');
      out.push(el('pre', { tabindex: 0 }, el('code', {}, `${code}\n`)));
      end += 1;
    } else if (RULE.test(line)) {
      out.push(el('hr'));
    } else if (heading) {
      // The page's own headings are of the first three levels.
      out.push(el(`h${Math.min(heading[1].length + 3, 6)}`, {}, inline(heading[2])));
    } else if (/^ {0,3}>/.test(line)) {
      end = taken(at, (l) => l.trim() !== '' && (/^ {0,3}>/.test(l) || !begins(l)));
      out.push(el('blockquote', {}, markdown(lines.slice(at, end).map((l) => l.replace(/^ {0,3}> ?/, '')).join('\n'), depth + 1)));
    } else if (ITEM.test(line)) {
      const [, indent, number] = ITEM.exec(line);
      const isOwn = (l) => {
        const item = ITEM.exec(l);
        return item !== null && item[1].length <= indent.length + 1 && (item[2] === undefined) === (number === undefined);
      };
      const isInside = (l) => l.startsWith(`${indent}  `) || (l.trim() !== '' && !begins(l));
      const items = [];
      for (end = at; end < lines.length && isOwn(lines[end]) && !RULE.test(lines[end]); ) {
        const first = end;
        end = taken(end + 1, (l, i) => (l.trim() === '' ? (lines[i + 1] ?? '').startsWith(`${indent}  `) : !isOwn(l) && isInside(l)));
        const rest = lines.slice(first + 1, end).map((l) => l.replace(new RegExp(`^ {0,${indent.length + 4}}`), ''));
        items.push(el('li', {}, item(ITEM.exec(lines[first])[3], rest, depth)));
      }
      out.push(number === undefined ? el('ul', {}, items) : el('ol', { start: number }, items));
    } else if (line.includes('|') && DASHES.test(lines[end] ?? '')) {
      const row = (l) => l.trim().replace(/^\||\|$/g, '').split('|').map((cell) => inline(cell.trim()));
      end = taken(at + 2, (l) => l.includes('|'));
      out.push(table(row(line), lines.slice(at + 2, end).map(row)));
    } else {
      end = taken(end, (l) => l.trim() !== '' && !begins(l));
      out.push(el('p', {}, inline(lines.slice(at, end).join('\n'))));
    }
    at = end;
  }
  return out;
}

/** The content of an item of a list: its text, and what is below it. */
function item(first, rest, depth) {
  const text = first.replace(/^\[([ xX])\] /, (_, mark) => (mark === ' ' ? '☐ ' : '☑ '));
  const below = rest.findIndex((line) => line.trim() === '' || begins(line));
  const own = below < 0 ? rest : rest.slice(0, below);
  return [...inline([text, ...own].join('\n')), ...(below < 0 ? [] : markdown(rest.slice(below).join('\n'), depth + 1))];
}

const INLINE = /\\([\\`*_~[\]])|(`+)([^`]|[^`][^]*?[^`])\2(?!`)|\*\*(?=\S)([^*]+(?:\*[^*]+)*)\*\*|~~([^~]+)~~|(?<![\w*])[*_](?=\S)([^*_]+)[*_](?![\w*])|!?\[([^\]]*)\]\(((?:[^\s()]|\([^\s()]*\))*)(?:\s[^)]*)?\)/g;

/** The texts and elements of a line. Links lead to the web only, and an image is its text. */
function inline(text) {
  if (text.length > PARAGRAPH_CHARS) return [text];
  const out = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, escaped, , code, strong, struck, em, label, address] = found;
    out.push(text.slice(at, found.index));
    at = found.index + whole.length;
    const isLink = address !== undefined && whole[0] !== '!' && /^https?:[/][/]/.test(address);
    if (escaped) out.push(escaped);
    else if (code !== undefined) out.push(el('code', {}, code.trim() || code));
    else if (strong) out.push(el('strong', {}, inline(strong)));
    else if (struck) out.push(el('del', {}, struck));
    else if (em) out.push(el('em', {}, em));
    else if (isLink) out.push(el('a', { href: address, rel: 'noopener noreferrer nofollow' }, label));
    else out.push(label);
  }
  out.push(text.slice(at));
  return out;
}

show();
