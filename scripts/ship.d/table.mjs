// Owns the reading of the README's install table: which command each row has.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

/** The rows of the first table below "## Install", by the name in the first column: the commands in the second. */
export function installTable(checkout) {
  const text = fs.readFileSync(path.join(checkout, 'README.md'), 'utf8');
  const section = text.split('\n## ').find((part) => part.startsWith('Install\n'));
  assert.ok(section, 'README.md has no section Install');
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  const commands = new Map();
  for (const row of rows.slice(1)) {
    const [, title, command] = row.split('|').map((cell) => cell.trim());
    const code = /^`([^`]+)`$/.exec(command);
    assert.ok(code, `not one command: ${command}`);
    commands.set(title, code[1]);
  }
  return commands;
}
