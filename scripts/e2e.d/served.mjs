// Owns the script about our tools as an MCP server of the host's, and the claims about what came of it.

import assert from 'node:assert/strict';
import path from 'node:path';

import { ending } from './child.mjs';
import { answersTo, conversation, declarationsOf } from './records.mjs';

const SERVER = 'served';
const named = (tool) => `mcp_${SERVER}_${tool}`;

export const SERVED_FILES = { 'notes.txt': 'first line\nsecond line\n' };

/** Without a terminal the host hides these of its own, and with them whatever a server calls by the same names. */
const HIDDEN = ['list_background_processes', 'read_background_output', 'replace', 'run_shell_command', 'web_fetch', 'write_file'];

/** The host's settings: its tools by an MCP server that it trusts, instead of by two commands. */
export const servedSettings = (serveTools) => ({
  getTools: undefined,
  callTool: undefined,
  allowed: HIDDEN,
  mcpServers: { [SERVER]: { command: serveTools, trust: true } },
});

export function servedScript(workspace) {
  const call = (id, tool, args) => ({ id, tool: named(tool), args });
  return {
    closing: 'All served tools were called.',
    turns: [
      [call('read', 'read_file', { absolute_path: path.join(workspace, 'notes.txt') }), call('search', 'search_file_content', { pattern: 'second' })],
      [call('edit', 'replace', { file_path: path.join(workspace, 'notes.txt'), old_string: 'first', new_string: '1st' })],
      [call('run', 'run_shell_command', { command: 'cat notes.txt' }), call('miss', 'read_file', { absolute_path: 'none.txt' })],
    ],
  };
}

export async function checkServed(report, { script, recorded, session, ours }) {
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
  await report.claim('served_tools_give_their_results_and_errors_to_the_model', () => {
    const answers = answersTo(script, recorded);
    const said = (id) => JSON.stringify(answers.get(id) ?? null);
    assert.match(said('read'), /first line\\n/);
    assert.match(said('search'), /L2: second line/);
    assert.match(said('edit'), /Replaced 1 occurrence/);
    assert.match(said('run'), /1st line/);
    assert.match(said('miss'), /none\.txt/);
  });
}
