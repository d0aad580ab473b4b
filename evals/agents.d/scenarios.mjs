// Owns the scenarios that run_agent and Gemini CLI are both played: what the model says, and what lies in the workspace.
// Leaves the playing to agent_hosts.mjs, and the scenario with third-party commands to foreign_pair.mjs.

import path from 'node:path';

import { FOREIGN_PAIR } from './foreign_pair.mjs';

const DOT_PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const FILES = { 'one.txt': 'first\n', 'two.txt': 'second\n', 'three.txt': 'third\n', 'dot.png': DOT_PNG };

/**
 * Each has a `name`, `what` for the documentation, the `files` of the workspace and a `script`, made of `{at, named}`: `at`
 * gives the path of a file in the workspace, `named` the name under which the host declares a tool. `unapproved` names a
 * tool that nobody has approved of; `everywhere` is for all ways in to the API.
 */
export const SCENARIOS = [
  {
    name: 'text only',
    what: 'The model answers at once.',
    script: () => ({ closing: 'Nothing has to be done.' }),
  },
  {
    name: 'one call',
    what: 'The model reads a file.',
    script: ({ at }) => ({ turns: [[read('a', at('one.txt'))]] }),
    everywhere: true,
  },
  {
    name: 'three parallel reads',
    what: 'The model reads three files in one turn.',
    script: ({ at }) => ({ turns: [[read('a', at('one.txt')), read('b', at('two.txt')), read('c', at('three.txt'))]] }),
    everywhere: true,
  },
  {
    name: 'reads mixed with writes',
    what: 'The model reads, writes, reads and writes in one turn, then reads what it has written in the next.',
    script: ({ at }) => ({
      turns: [
        [read('a', at('one.txt')), write('b', at('four.txt'), 'fourth\n'), read('c', at('two.txt')), write('d', at('five.txt'), 'fifth\n')],
        [read('e', at('four.txt')), read('f', at('five.txt'))],
      ],
    }),
  },
  {
    name: 'a failing tool',
    what: 'The model reads a file that is not there, and one that is.',
    script: ({ at }) => ({ turns: [[read('a', at('none.txt')), read('b', at('one.txt'))]] }),
  },
  {
    name: 'an unknown tool',
    what: 'The model calls two tools that are not declared; one is spelled almost like one that there is.',
    script: () => ({ turns: [['no_such_tool', 'read_fil'].map((tool, index) => ({ id: 'ab'[index], tool, args: { reason: 'none' } }))] }),
  },
  {
    name: 'bad arguments',
    what: 'The model gives a number for a path, then no path at all.',
    script: () => ({ turns: [[{ id: 'a', tool: 'read_file', args: { absolute_path: 7 } }, { id: 'b', tool: 'read_file', args: {} }]] }),
  },
  {
    name: 'an image result',
    what: 'The model reads an image.',
    script: ({ at }) => ({ turns: [[read('a', at('dot.png'))]] }),
    everywhere: true,
  },
  {
    name: 'a list of parts',
    what: 'The model reads a text and an image by one call, and a text by another in the same turn.',
    script: ({ at }) => ({
      turns: [[{ id: 'a', tool: 'read_many_files', args: { paths: ['one.txt', 'dot.png'] } }, read('b', at('two.txt'))]],
    }),
  },
  {
    name: 'thoughts with signatures',
    what: 'The model thinks before it calls, signs the first of two calls, and thinks again; its last text is signed, too.',
    script: ({ at, named }) => ({
      answers: [
        { parts: [thought('I look first.'), signed(call(named, read('a', at('one.txt'))), 'one'), call(named, read('b', at('two.txt')))] },
        { parts: [thought('And again.'), text('Once more.'), signed(call(named, read('c', at('three.txt'))), 'two')] },
        { parts: [thought('That is all.'), signed(text('Seen.'), 'three')] },
      ],
    }),
    everywhere: true,
  },
  {
    name: 'a malformed call and retry',
    what: 'The model breaks a call off as malformed, and makes it properly when it is asked again.',
    script: ({ at }) => ({
      faults: [{ fault: 'MALFORMED_FUNCTION_CALL', match: { kind: 'turn' } }],
      turns: [[read('a', at('one.txt'))]],
    }),
  },
  {
    name: 'a refused call',
    what: 'The model writes a file, and no user has approved of that.',
    script: ({ at }) => ({ turns: [[write('a', at('four.txt'), 'fourth\n')]] }),
    unapproved: 'write_file',
  },
  {
    name: 'calls without ids',
    what: 'The model calls two tools and gives no ids.',
    script: ({ at, named }) => ({
      answers: [{ parts: [call(named, read(undefined, at('one.txt'))), call(named, read(undefined, at('two.txt')))] }],
    }),
  },
  {
    name: 'text in pieces around a call',
    what: 'The text before a call comes in two pieces, and some more comes after the call.',
    script: ({ at, named }) => ({
      answers: [{ parts: [text('Let me '), text('see. '), call(named, read('a', at('one.txt'))), text('That was it.')] }],
    }),
  },
  {
    name: 'an empty answer and retry',
    what: 'The model says nothing, and answers when it is asked again.',
    script: () => ({ faults: [{ fault: 'empty', what: 'text', match: { kind: 'turn' } }], closing: 'Now.' }),
  },
  FOREIGN_PAIR,
].map((scenario) => ({ files: FILES, ...scenario }));

/** The place in the workspace of a file that a script names. */
export function placeIn(workspace) {
  return (name) => path.join(workspace, name);
}

function read(id, absolutePath) {
  return { id, tool: 'read_file', args: { absolute_path: absolutePath } };
}

function write(id, filePath, content) {
  return { id, tool: 'write_file', args: { file_path: filePath, content } };
}

function call(named, { id, tool, args }) {
  return { functionCall: { ...(id && { id }), name: named(tool), args } };
}

function text(said) {
  return { text: said };
}

function thought(said) {
  return { text: `**${said}** ${said}`, thought: true };
}

function signed(part, by) {
  return { ...part, thoughtSignature: Buffer.from(`signature ${by}`).toString('base64') };
}
