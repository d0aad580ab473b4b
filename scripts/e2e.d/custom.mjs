// Owns the script about tools of the project's own, and the claims about what came of it.

import assert from 'node:assert/strict';

import { answersTo, conversation, declarationsOf, declaredName } from './records.mjs';
import { ending } from './child.mjs';
import { failureOf, outputOf } from './answers.mjs';

/** The same tool in three languages, and one that fails. */
export const CUSTOM_FILES = {
  '.gemini/tools/in_shell.sh': `#!/bin/bash
# /// tool
# description = "Greets in shell."
# params.name = { required = true }
# ///
echo "Hello, $TOOL_NAME!"
`,
  '.gemini/tools/in_python.py': `#!/usr/bin/env python3
# /// tool
# description = "Greets in Python."
# params.name = { required = true }
# ///
import json, sys
print(f"Hello, {json.load(sys.stdin)['name']}!")
`,
  '.gemini/tools/in_node.mjs': `#!/usr/bin/env node
// /// tool
// description = "Greets in node."
// params.name = { required = true }
// ///
import { readFileSync } from 'node:fs';
console.log(\`Hello, \${JSON.parse(readFileSync(0, 'utf8')).name}!\`);
`,
  '.gemini/tools/fails.toml': `description = "Fails."
command = ["ls", "--", "{name}"]
params.name = { required = true }
`,
};

/** What a shell would make something else of. */
const NAME = `O'Hara "$(id)"; ünd so`;

const GREETERS = ['in_shell', 'in_python', 'in_node'];

export const CUSTOM_TOOLS = [...GREETERS, 'fails'];

export function customScript() {
  const call = (id, tool, args) => [{ id, tool, args }];
  return {
    closing: 'All were greeted.',
    turns: [
      ...GREETERS.map((tool) => call(tool, tool, { name: NAME })),
      call('fails', 'fails', { name: 'no such file' }),
      call('unusable', 'in_shell', {}),
    ],
  };
}

export async function checkCustom(report, { script, recorded, session }) {
  await report.claim('the_host_uses_the_projects_own_tools_to_the_end_of_the_script', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(session.stdout.includes(script.closing), 'the closing text was not printed');
  });
  const requests = conversation(recorded);
  if (requests.length === 0) return;
  const declared = declarationsOf(requests[0].body);
  await report.claim('the_model_sees_the_projects_own_tools_with_their_parameters', () => {
    for (const tool of CUSTOM_TOOLS) {
      const seen = declared.get(declaredName(declared, tool));
      assert.deepEqual(seen?.schema.required, ['name'], tool);
    }
  });
  const answers = answersTo(script, recorded);
  for (const tool of GREETERS) {
    await report.claim(`the_tool_${tool}_gets_its_arguments_and_gives_its_result`, () => {
      assert.equal(outputOf(answers, tool), `Hello, ${NAME}!`);
    });
  }
  await report.claim('the_model_sees_why_a_tool_of_the_project_failed', () => {
    const failure = failureOf(answers, 'fails');
    assert.equal(failure.errorType, 'execution_failed');
    assert.match(failure.error, /failed with exit status 2\.\nStandard error:\n.*no such file/);
  });
}
