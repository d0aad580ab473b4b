// Owns the changes of several files: which files of two versions, and their patch in both grammars.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const MOST_FILES = 12;

/** The content and the x bit of each file below a directory, by its path. */
export function treeOf(root) {
  const entries = fs.readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  const state = (file) => {
    const isExecutable = (fs.statSync(file).mode & 0o100) !== 0;
    return `${isExecutable ? 'x' : '-'}${fs.readFileSync(file, 'latin1')}`;
  };
  const names = entries.map((entry) => path.join(entry.parentPath ?? entry.path, entry.name)).sort();
  return new Map(names.map((file) => [path.relative(root, file), state(file)]));
}

export const isSame = (one, other) => one.size === other.size && [...one].every(([name, state]) => other.get(name) === state);

function git(args, cwd) {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' };
  const result = spawnSync('git', args, { cwd, env, encoding: 'latin1', maxBuffer: 1 << 28 });
  // 1 says that there are differences.
  if (![0, 1].includes(result.status)) throw new Error(`git ${args.join(' ')} in ${cwd}: ${result.stderr}`);
  return result.stdout;
}

const DIFF = ['-c', 'core.quotePath=true', 'diff', '--no-index', '--no-color', '--no-ext-diff', '-M', '--no-prefix'];

/** The names before and after of each file that two directories have not alike. */
export function changedFiles([from, to]) {
  const both = (name) => [from, to].map((root) => path.join(root, name));
  const names = new Set([...treeOf(from).keys(), ...treeOf(to).keys()]);
  const isText = (file) => !fs.existsSync(file) || Buffer.from(fs.readFileSync(file, 'utf8')).equals(fs.readFileSync(file));
  const differs = (name) => {
    const [old, fresh] = both(name).map((file) => (fs.existsSync(file) ? fs.readFileSync(file) : null));
    return !(old && fresh && old.equals(fresh));
  };
  return [...names].filter((name) => differs(name) && both(name).every(isText)).sort();
}

/** Some of these files, as before and as after, in two directories below `work`. Some are moved besides. */
export function writeVersions([from, to], names, work, chance) {
  for (const [side, root] of [['before', from], ['after', to]]) fs.mkdirSync(path.join(work, side), { recursive: true });
  for (const name of names) {
    const target = chance.below(8) === 0 && fs.existsSync(path.join(to, name)) && fs.existsSync(path.join(from, name)) ? `moved/${name}` : name;
    for (const [side, root, as] of [['before', from, name], ['after', to, target]]) {
      const source = path.join(root, name);
      if (!fs.existsSync(source)) continue;
      const place = path.join(work, side, as);
      fs.mkdirSync(path.dirname(place), { recursive: true });
      fs.copyFileSync(source, place);
      fs.chmodSync(place, fs.statSync(source).mode & 0o100 ? 0o755 : 0o644);
    }
  }
}

/** Chooses files that changed between the versions of a package. */
export function choose(files, chance) {
  return chance.sample(files, 2 + chance.below(MOST_FILES - 1));
}

/** The patch between both directories below `work` as git writes it, and what is in it. */
export function unifiedPatch(work, context = 3) {
  const text = git([...DIFF, `-U${context}`, 'before', 'after'], work);
  // Without prefixes, the directories take their place.
  return text
    // Of a file that one side does not have, both names are those of the other.
    .replace(/^diff --git ("?)(?:before|after)\/(.*?)("?) ("?)(?:before|after)\/(.*)$/gm, 'diff --git $1a/$2$3 $4b/$5')
    .replace(/^(--- .*|\+\+\+ .*|rename from .*|rename to .*)$/gm, (line) => line.replace(/(^|[ "])before\//g, '$1a/').replace(/(^|[ "])after\//g, '$1b/'))
    .replace(/^(rename from |rename to )("?)[ab]\//gm, '$1$2');
}

/** The sections of a unified patch, each with its names, its hunks and whether only that grammar can say it. */
export function sectionsOf(text) {
  const sections = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    if (line.startsWith('diff --git ')) sections.push({ old: null, fresh: null, hunks: [], isOnlyUnified: false });
    const section = sections.at(-1);
    if (!section) continue;
    const name = (mark) => (line.startsWith(mark) ? line.slice(mark.length).replace(/\t$/, '') : undefined);
    section.isOnlyUnified ||= /^(old|new) mode /.test(line) || /^new file mode 100755/.test(line) || line.includes('\\3');
    section.renamedFrom ??= name('rename from ');
    section.renamedTo ??= name('rename to ');
    section.both ??= /^diff --git a\/(.*) b\/\1$/.exec(line)?.[1];
    if (line.startsWith('new file mode')) section.isNew = true;
    if (line.startsWith('deleted file mode')) section.isDeleted = true;
    const header = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (!header) continue;
    let [left, right] = [header[2] ?? 1, header[3] ?? 1].map(Number);
    const rows = [];
    while (left > 0 || right > 0 || lines[at + 1]?.startsWith('\\')) {
      const row = lines[++at];
      if (row[0] === '\\' || row.endsWith('\r')) section.isOnlyUnified = true;
      else rows.push(row);
      if (row[0] === ' ' || row[0] === '-') left--;
      if (row[0] === ' ' || row[0] === '+') right--;
    }
    section.hunks.push({ line: Number(header[1]), rows });
  }
  return sections;
}

/** A section in the grammar of the envelope, null if a hunk has no place that is clear by it. */
export function envelopeSection(section, before) {
  const name = section.renamedFrom ?? section.both;
  if (section.isOnlyUnified || name === undefined) return null;
  if (section.isDeleted) return [`*** Delete File: ${name}`];
  if (section.isNew) return [`*** Add File: ${name}`, ...section.hunks.flatMap(({ rows }) => rows)];
  const head = [`*** Update File: ${name}`, ...(section.renamedTo ? [`*** Move to: ${section.renamedTo}`] : [])];
  const file = fs.readFileSync(path.join(before, name), 'latin1').split('\n');
  const hunks = [];
  let from = 0;
  for (const { line, rows } of section.hunks) {
    const anchor = anchorOf(file, from, line - 1, rows);
    if (anchor === null) return null;
    hunks.push(anchor, ...rows);
    from = line - 1 + rows.filter((row) => row[0] !== '+').length;
  }
  return [...head, ...hunks];
}

/** The first line of a hunk in the envelope: with a line above it where its own lines are there more than once. */
function anchorOf(file, from, at, rows) {
  const old = rows.filter((row) => row[0] !== '+').map((row) => row.slice(1));
  if (old.length === 0) return null;
  const places = [];
  for (let place = from; place + old.length <= file.length; place++) {
    if (old.every((line, i) => file[place + i] === line)) places.push(place);
  }
  if (places.length === 1) return '@@';
  for (let above = at - 1; above >= from; above--) {
    const line = file[above].trim();
    const isOnce = line.length > 3 && file.slice(from).filter((other) => other.trim() === line).length === 1;
    if (isOnce && places.find((place) => place > above) === at) return `@@ ${file[above]}`;
  }
  return null;
}

export const envelope = (sections) => ['*** Begin Patch', ...sections.flat(), '*** End Patch', ''].join('\n');
