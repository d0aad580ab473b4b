// Owns one session: the files, the calls of the model, and what it must get for them.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { answerTo, words } from './chat_api.mjs';

const LONG_LINES = 3000;
const LONG = Array.from({ length: LONG_LINES }, (_, at) => `line ${String(at + 1).padStart(4, '0')} ${'.'.repeat(80)}\n`).join('');
const IMAGE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

export const FILES = { 'notes.txt': 'one\ntwo\nthree\n', 'long.txt': LONG, 'dot.png': IMAGE };

/** The calls, each with what is claimed of its answer. */
const CALLS = [
  {
    claim: 'a_file_is_read_whole_and_once',
    tool: 'read_file',
    args: { absolute_path: 'notes.txt' },
    check: ({ text }) => assert.equal(text.split('two').length, 2, text),
  },
  {
    claim: 'a_search_finds_the_line',
    tool: 'search_file_content',
    args: { pattern: 'thr.e' },
    check: ({ text }) => assert.match(text, /notes\.txt[^]*L3: three/),
  },
  {
    claim: 'an_edit_changes_the_file',
    tool: 'replace',
    args: { file_path: 'notes.txt', old_string: 'two', new_string: 'zwei' },
    check: (_, { workspace }) => assert.equal(fs.readFileSync(path.join(workspace, 'notes.txt'), 'utf8'), 'one\nzwei\nthree\n'),
  },
  {
    claim: 'a_command_runs_in_the_project',
    tool: 'run_shell_command',
    args: { command: 'echo said; basename "$PWD"; exit 3' },
    check: ({ text }) => assert.match(text, /said[^]*work space[^]*Exit Code: 3/),
  },
  {
    claim: 'an_error_says_what_to_do_and_once',
    tool: 'read_file',
    args: { absolute_path: 'missing.txt' },
    check: ({ text }) => assert.equal(text.split('does not exist').length, 2, text),
  },
  {
    claim: 'an_image_arrives_in_some_form',
    isImage: true,
    tool: 'read_file',
    args: { absolute_path: 'dot.png' },
    check: ({ all }) => assert.match(all, /image/),
  },
  {
    claim: 'a_long_answer_names_the_line_to_read_on_at',
    tool: 'read_file',
    args: { absolute_path: 'long.txt' },
    check: ({ text }) => {
      const shown = [...text.matchAll(/line (\d{4}) /g)].map((match) => Number(match[1]));
      const [, last] = /Showing lines 1-(\d+) of 3000\. To read on, call read_file with offset \1/.exec(text) ?? [];
      assert.equal(shown.at(-1), Number(last), 'the lines that the note says');
      assert.deepEqual(shown, [...shown.keys()].map((at) => at + 1), 'none is left out');
    },
  },
];

export const STEPS = [...CALLS.map(({ tool, args }) => ({ tool, args })), { say: 'Done.' }];

export async function checkSession(report, requests, place, { hidesImages }) {
  for (const [at, { claim, isImage, check }] of CALLS.entries()) {
    if (isImage && hidesImages) continue;
    const messages = answerTo(requests, at + 1);
    await report.claim(claim, () => {
      assert.ok(messages.length > 0, 'the model was sent no answer');
      check({ text: words(messages[0].content), all: JSON.stringify(messages) }, place);
    });
  }
}
