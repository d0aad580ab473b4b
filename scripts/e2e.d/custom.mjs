// Owns the script about tools of the project's own, in shell, Python and node, and the claims about what came of it.

import assert from 'node:assert/strict';
import path from 'node:path';

import { ending } from './child.mjs';
import { failureOf, outputOf, rawAnswer } from './answers.mjs';
import { answersTo, conversation, declarationsOf, declaredName, DISCOVERED } from './records.mjs';

const TEXT = 'two words; $(touch made) `touch made` "quoted" \\ é 👍\nsecond line';

const block = (comment, language) =>
  [
    '/// tool',
    `description = "Tells in ${language} what it was given."`,
    'params.text = { type = "string", required = true, description = "A text." }',
    'params.count = { type = "integer", default = 7, minimum = 1, description = "A number." }',
    '///',
  ]
    .map((line) => `${comment} ${line}\n`)
    .join('');

const TOOLS = {
  own_shell: `#!/bin/sh
${block('#', 'shell')}[ "$PARAM_TEXT" != fail ] || { echo "shell says no" >&2; exit 3; }
printf '%s|%s' "$PARAM_COUNT" "$PARAM_TEXT"
`,
  own_python: `#!/usr/bin/env python3
${block('#', 'Python')}import json, sys
args = json.load(sys.stdin)
if args["text"] == "fail":
    sys.exit("Python says no")
print(args["count"], args["text"], sep="|", end="")
`,
  own_node: `#!/usr/bin/env node
${block('//', 'node')}const { text, count } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
if (text === 'fail') {
  console.error('node says no');
  process.exit(1);
}
process.stdout.write(\`\${count}|\${text}\`);
`,
};

/** Files without endings: the tool's name is the file's, and node takes them for scripts of the older kind. */
export const CUSTOM_FILES = Object.fromEntries(Object.entries(TOOLS).map(([name, text]) => [path.join('.gemini', 'tools', name), text]));

export const CUSTOM_SETTINGS = { allowed: Object.keys(TOOLS).map((name) => DISCOVERED + name) };

export function customScript() {
  const calls = (suffix, args) => Object.keys(TOOLS).map((tool) => ({ id: `${tool}-${suffix}`, tool, args }));
  return {
    closing: 'All own tools were called.',
    turns: [calls('good', { text: TEXT }), calls('bad', { text: 'fail' }), calls('wrong', { text: 'x', count: 0 })],
  };
}

export async function checkCustom(report, { script, recorded, session }) {
  await report.claim('the_host_calls_the_projects_own_tools', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(session.stdout.includes(script.closing), 'the closing text was not printed');
  });
  const requests = conversation(recorded);
  if (requests.length === 0) return;
  const declared = declarationsOf(requests[0].body);
  const answers = answersTo(script, recorded);
  for (const tool of Object.keys(TOOLS)) {
    await report.claim(`${tool}_gets_its_arguments_and_gives_its_result_and_its_error`, () => {
      const seen = declared.get(declaredName(declared, tool));
      assert.ok(seen, 'the model does not see it');
      assert.deepEqual(seen.schema.required, ['text']);
      assert.equal(seen.schema.properties.count.type, 'integer');
      assert.equal(outputOf(answers, `${tool}-good`), `7|${TEXT}`);
      const failure = failureOf(answers, `${tool}-bad`);
      assert.equal(failure.errorType, 'execution_failed');
      assert.match(failure.error, /failed with exit status \d[^]* says no/);
      // The host checks arguments too, by the schema that it was given.
      assert.match(rawAnswer(answers, `${tool}-wrong`), /count must be >= 1/);
    });
  }
}
