// Owns the script about our tools as an MCP server of the host's, and the claims about what came of it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { ending } from './child.mjs';
import { answersTo, conversation, declarationsOf } from './records.mjs';

const SERVER = 'served';
const FACT = 'Tools are served';
const named = (tool) => `mcp_${SERVER}_${tool}`;

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

export const SERVED_FILES = { 'notes.txt': 'first line\nsecond line\n', 'dot.png': Buffer.from(PNG, 'base64') };

/** Without a terminal the host hides these of its own, and with them whatever a server calls by the same names. */
const HIDDEN = ['google_web_search', 'list_background_processes', 'read_background_output', 'replace', 'run_shell_command', 'save_memory', 'smart_edit', 'stop_background_process', 'web_fetch', 'write_file'];

/** What a server of the host's gets of the host's environment. */
const PASSED_ON = Object.fromEntries(['GEMINI_API_KEY', 'GOOGLE_GEMINI_BASE_URL'].map((name) => [name, `$${name}`]));

/** The host's settings: its tools by an MCP server that it trusts, instead of by two commands. */
export const servedSettings = (serveTools) => ({
  getTools: undefined,
  callTool: undefined,
  allowed: HIDDEN,
  mcpServers: { [SERVER]: { command: serveTools, env: PASSED_ON, trust: true } },
});

export function servedScript(workspace) {
  const call = (id, tool, args) => ({ id, tool: named(tool), args });
  const file = path.join(workspace, 'notes.txt');
  const pid = (responses) => {
    const texts = responses.map((response) => JSON.stringify(response));
    return { pid: Number(/Background PIDs: (\d+)/.exec(texts.join())?.[1] ?? 0) };
  };
  const always = (text) => [{ text, times: 'always' }];
  return {
    closing: 'All served tools were called.',
    search: always('Herons are birds.'),
    fetch: always('A page on herons.'),
    turns: [
      [
        call('read', 'read_file', { absolute_path: file }),
        call('image', 'read_file', { absolute_path: path.join(workspace, 'dot.png') }),
        call('many', 'read_many_files', { paths: ['notes.txt'] }),
        call('list', 'list_directory', { path: workspace }),
        call('glob', 'glob', { pattern: '*.txt' }),
        call('search', 'search_file_content', { pattern: 'second' }),
      ],
      [call('edit', 'replace', { file_path: file, old_string: 'first', new_string: '1st' })],
      [call('smart', 'smart_edit', { file_path: file, instruction: 'count on', old_string: 'second', new_string: '2nd' })],
      [call('write', 'write_file', { file_path: path.join(workspace, 'new.txt'), content: 'new\n' })],
      [call('patch', 'apply_patch', { patch: '*** Begin Patch\n*** Add File: patched.txt\n+new\n*** End Patch' })],
      [call('run', 'run_shell_command', { command: 'cat notes.txt new.txt' }), call('miss', 'read_file', { absolute_path: 'none.txt' })],
      [call('start', 'run_shell_command', { command: 'echo it is ready; sleep 300', is_background: true })],
      [{ id: 'ready', tool: named('read_background_output'), args: (responses) => ({ ...pid(responses), pattern: 'is ready' }) }],
      [call('jobs', 'list_background_processes', {})],
      [{ id: 'stop', tool: named('stop_background_process'), args: pid }],
      [call('memory', 'save_memory', { fact: FACT })],
      [call('web', 'google_web_search', { query: 'herons' })],
      [call('page', 'web_fetch', { prompt: 'Read https://herons.example/' })],
    ],
  };
}

export async function checkServed(report, { script, recorded, session, playground, ours }) {
  await report.claim('the_host_calls_tools_that_serve_tools_serves', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(session.stdout.includes(script.closing), 'the closing text was not printed');
    assert.deepEqual(session.leftBehind, [], 'something was left behind');
  });
  const requests = conversation(recorded);
  if (requests.length === 0) return;
  await report.claim('the_model_sees_every_served_tool_with_its_parameters', () => {
    const declared = declarationsOf(requests[0].body);
    for (const [tool, { schema }] of ours) {
      const seen = declared.get(named(tool));
      assert.ok(seen, `${tool} is missing`);
      assert.deepEqual(Object.keys(seen.schema.properties ?? {}).filter((name) => name !== 'wait_for_previous').sort(), Object.keys(schema.properties ?? {}).sort(), tool);
    }
  });
  await report.claim('every_served_tool_is_called', () => {
    const called = new Set(script.turns.flat().map(({ tool }) => tool));
    assert.deepEqual([...ours.keys()].filter((tool) => !called.has(named(tool))), []);
  });
  await report.claim('served_tools_give_their_results_and_errors_to_the_model', () => {
    const answers = answersTo(script, recorded);
    const said = (id) => JSON.stringify(answers.get(id) ?? null);
    const expected = {
      read: /first line\\nsecond line/,
      image: /image\/png/,
      many: /--- .*notes\.txt.*first line/,
      list: /dot\.png.*notes\.txt/,
      glob: /notes\.txt/,
      search: /L2: second line/,
      edit: /Successfully modified file: .* \(1 replacements\)/,
      smart: /notes\.txt/,
      patch: /Successfully applied the patch to 1 file/,
      write: /Successfully created and wrote to new file: .*new\.txt\. It has 4 bytes/,
      run: /1st line\\n2nd line\\nnew/,
      miss: /none\.txt/,
      start: /Background PIDs: \d+/,
      ready: /matches \\+"is ready\\+"/,
      jobs: /running: echo it is ready/,
      stop: /was ended/,
      memory: new RegExp(FACT),
      web: /Herons are birds\./,
      page: /A page on herons\./,
    };
    assert.deepEqual(Object.keys(expected).sort(), script.turns.flat().map(({ id }) => id).sort());
    for (const [id, pattern] of Object.entries(expected)) assert.match(said(id), pattern, id);
  });
  await report.claim('served_tools_do_what_they_say', () => {
    const read = (name) => fs.readFileSync(path.join(playground.workspace, name), 'utf8');
    assert.equal(read('notes.txt'), '1st line\n2nd line\n');
    assert.equal(read('new.txt'), 'new\n');
    const memory = fs.readFileSync(path.join(playground.home, '.gemini', 'GEMINI.md'), 'utf8');
    assert.ok(memory.includes(`- ${FACT}\n`), memory);
  });
}
