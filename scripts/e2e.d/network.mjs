// Owns the script about the tools that reach the network or a model, and the claims about what came of it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { answersTo, conversation, declarationsOf, declaredName } from './records.mjs';
import { ending } from './child.mjs';
import { failureOf, outputOf } from './answers.mjs';

/** These tools with their required parameters. */
export const NETWORK_TOOLS = {
  google_web_search: ['query'],
  smart_edit: ['file_path', 'instruction', 'new_string', 'old_string'],
  web_fetch: ['prompt'],
};

export const NETWORK_FILES = { 'greet.js': 'function greet(name) {\r\n\treturn "hi " + name;\r\n}\r\n' };

export function networkScript(workspace) {
  return {
    closing: 'All of it was looked up.',
    turns: [
      [{ id: 'search', tool: 'google_web_search', args: { query: 'weather in Berlin' } }],
      [{ id: 'inside', tool: 'web_fetch', args: { prompt: 'Read http://169.254.169.254/latest/meta-data' } }],
      [
        {
          id: 'edit',
          tool: 'smart_edit',
          args: {
            file_path: path.join(workspace, 'greet.js'),
            instruction: 'Greet politely.',
            old_string: 'function greet(name) {\n  return “hi ” + name;\n}',
            new_string: 'function greet(name) {\n  return "Good day, " + name;\n}',
          },
        },
      ],
    ],
  };
}

export async function checkNetwork(report, { script, recorded, session, playground, ours }) {
  await report.claim('the_host_looks_things_up_to_the_end_of_the_script', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(session.stdout.includes(script.closing), 'the closing text was not printed');
  });
  const requests = conversation(recorded);
  if (requests.length === 0) return;
  const declared = declarationsOf(requests[0].body);
  for (const [tool, required] of Object.entries(NETWORK_TOOLS)) {
    await report.claim(`the_model_sees_${tool}`, () => {
      const seen = declared.get(declaredName(declared, tool));
      assert.ok(seen?.description.startsWith(ours.get(tool).description), 'another tool of the name, or none');
      assert.deepEqual([...(seen.schema.required ?? [])].sort(), required);
    });
  }

  const answers = answersTo(script, recorded);
  await report.claim('a_search_asks_the_api_by_the_hosts_own_key_and_has_its_sources', () => {
    assert.match(outputOf(answers, 'search'), /\n\nSources:\n\[1\] /);
    const own = recorded.filter(({ kind, headers }) => kind === 'search' && /^gemini-tools\//.test(headers['user-agent']));
    assert.equal(own.length, 1);
  });
  await report.claim('an_address_inside_is_refused_and_never_asked', () => {
    assert.equal(failureOf(answers, 'inside').errorType, 'policy_violation');
    assert.deepEqual(recorded.filter(({ kind }) => kind === 'fetch'), []);
  });
  await report.claim('an_edit_that_nearly_fits_is_made_and_keeps_the_bytes_around', () => {
    assert.match(outputOf(answers, 'edit'), /not there literally/);
    const file = path.join(playground.workspace, 'greet.js');
    assert.equal(fs.readFileSync(file, 'utf8'), NETWORK_FILES['greet.js'].replace('hi ', 'Good day, '));
  });
}
