// Owns the project and the forty calls: what an agent does while it finds, reads and changes code, and what goes wrong on
// the way. Names of tools and arguments are those of Gemini CLI 0.61, which ours answer to as well.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

/** Real code: this repository's, as far as the calls need it. */
const DIRECTORIES = ['crates/workspace/src', 'crates/core/src', 'docs'];

/** What commands of daily work print, compressed: those that our rules were made with, and those held out. */
const LOGS = path.join(CHECKOUT, 'tests/logs');

export function projectFiles() {
  const files = {
    '.gitignore': 'target/\n*.log\n',
    'README.md': '# Project\n\nWhat the calls work on.\n',
    'texts/japanese.md': '# 概要\n\n検索した行は、そのまま編集に使えます。\n'.repeat(20),
    'texts/russian.md': '# Обзор\n\nСтроки поиска можно сразу использовать для правки.\n'.repeat(20),
    'data/rows.csv': `id,name,value\n${Array.from({ length: 3000 }, (_, n) => `${n},row ${n},${n * 7}\n`).join('')}`,
    'notes/plan.txt': 'alpha\nbeta\ngamma\nbeta\n',
  };
  for (const directory of DIRECTORIES) {
    for (const name of fs.readdirSync(path.join(CHECKOUT, directory))) {
      const file = path.join(CHECKOUT, directory, name);
      if (/\.(rs|md)$/.test(name)) files[path.posix.join(directory, name)] = fs.readFileSync(file);
    }
  }
  return files;
}

/** The logs as files of a project. */
export function logFiles() {
  const files = fs.readdirSync(LOGS, { recursive: true }).filter((name) => name.endsWith('.gz'));
  return Object.fromEntries(files.sort().map((name) => [path.posix.join('logs', name), fs.readFileSync(path.join(LOGS, name))]));
}

/** Calls that print the logs. */
export function logCalls() {
  return Object.keys(logFiles()).map((name) => [path.dirname(name), 'run_shell_command', { command: `gzip -dc ${name}` }]);
}

/** The calls, in order; each has a kind, under which the table counts it. */
export function calls(root) {
  const at = (name) => path.join(root, name);
  const read = (file_path, more = {}) => ['reads', 'read_file', { file_path: at(file_path), ...more }];
  const search = (pattern, more = {}) => ['searches', 'grep_search', { pattern, ...more }];
  const list = (dir) => ['lists', 'list_directory', { dir_path: at(dir) }];
  const glob = (pattern, more = {}) => ['lists', 'glob', { pattern, ...more }];
  const edit = (file, old_string, new_string, more = {}) => [
    'edits',
    'replace',
    { file_path: at(file), instruction: 'Change it.', old_string, new_string, ...more },
  ];
  const write = (file, content) => ['edits', 'write_file', { file_path: at(file), content }];
  const shell = (command) => ['commands', 'run_shell_command', { command }];
  const failing = ([, tool, args]) => ['failures', tool, args];
  return [
    list('.'),
    list('crates/workspace/src'),
    list('docs'),
    glob('**/*.rs'),
    glob('docs/*.md'),
    glob('**/*.py'),
    search('pub fn open'),
    search('ToolError::new', { include_pattern: '*.rs' }),
    search('fn .*path', { dir_path: at('crates/workspace/src') }),
    search('TODO'),
    search('macOS', { include_pattern: 'docs/**' }),
    search('検索'),
    search('Errno::[A-Z]+'),
    read('README.md'),
    read('crates/workspace/src/write.rs'),
    read('crates/workspace/src/edit.rs', { start_line: 1, end_line: 120 }),
    read('crates/core/src/names.rs'),
    read('docs/wire.md'),
    read('texts/japanese.md'),
    read('texts/russian.md'),
    read('data/rows.csv'),
    edit('README.md', 'What the calls work on.', 'What the forty calls work on.'),
    edit('crates/workspace/src/write.rs', 'use std::io;', 'use std::io;\nuse std::fmt;'),
    edit('notes/plan.txt', 'beta', 'delta', { allow_multiple: true }),
    edit('texts/russian.md', '# Обзор\n\nСтроки поиска можно сразу использовать для правки.\n# Обзор', '# Обзор\n\nИначе.\n# Обзор', { allow_multiple: true }),
    write('notes/new.txt', 'one\ntwo\nthree\n'),
    write('notes/plan.txt', 'alpha\nomega\n'),
    write('src/main.rs', 'fn main() {\n    println!("hello");\n}\n'),
    shell('echo hello'),
    shell('true'),
    shell('ls crates/workspace/src | head -5'),
    shell('grep -c fn crates/workspace/src/*.rs'),
    failing(shell('ls no-such-directory')),
    failing(read('no/such/file.rs')),
    failing(read('crates')),
    failing(search('(unclosed')),
    failing(edit('README.md', 'This text is not in it.', 'x')),
    failing(edit('notes/new.txt', 't', 'T')),
    failing(list('no-such-directory')),
    failing(write('docs', 'a directory')),
  ];
}
