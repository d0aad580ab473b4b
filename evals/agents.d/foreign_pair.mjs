// Owns the scenario with a pair of commands that is not ours: two Python scripts in the form that Gemini CLI documents, and
// the claims about what they were handed.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { writeFile } from '../../scripts/e2e.d/playground.mjs';
import { declarationsOf } from '../../scripts/e2e.d/records.mjs';

const HANDED_OVER = 'handed-over';

const TEXT = { type: 'string', description: 'Some text.' };

/** All three forms in which a declaration may stand in the list. */
const PRINTED = [
  { function_declarations: [declaration('greet', 'Greets somebody.', { name: TEXT }), declaration('facts', 'Gives facts as JSON.')] },
  { functionDeclarations: [declaration('fail', 'Fails.', { why: TEXT }), declaration('warn', 'Works, but complains.')] },
  declaration('quiet', 'Says nothing.'),
];

function declaration(name, description, properties = {}) {
  return { name, description, parametersJsonSchema: { type: 'object', properties, required: Object.keys(properties) } };
}

// What is written here in JSON is Python as well.
const DISCOVERY = `#!/usr/bin/env python3
import json
print(json.dumps(${JSON.stringify(PRINTED)}))
`;

/** Keeps what it is handed, one file for each tool. */
const CALL = `#!/usr/bin/env python3
import json, os, sys

name = sys.argv[1]
text = sys.stdin.read()
place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "${HANDED_OVER}")
os.makedirs(place, exist_ok=True)
with open(os.path.join(place, name + ".json"), "a") as file:
    json.dump({"arguments": sys.argv[1:], "input": text, "directory": os.getcwd()}, file)
    file.write("\\n")

args = json.loads(text)
if name == "greet":
    print("Hello, " + args["name"] + "!")
elif name == "facts":
    print(json.dumps({"facts": ["one", {"two": 2}], "total": 2}))
elif name == "fail":
    print("It was tried.")
    print("It is broken: " + args["why"], file=sys.stderr)
    sys.exit(1)
elif name == "warn":
    print("It is done.")
    print("It was old.", file=sys.stderr)
`;

const CALLS = [
  { id: 'a', tool: 'greet', args: { name: 'Zoë “Z” O’Neil \\ 👍\nsecond line' } },
  { id: 'b', tool: 'facts', args: {} },
  { id: 'c', tool: 'fail', args: { why: 'no reason' } },
  { id: 'd', tool: 'warn', args: {} },
  { id: 'e', tool: 'quiet', args: {} },
];

/** A call that has to be refused before the command is started. */
const BAD_CALL = { id: 'f', tool: 'greet', args: { name: 7 } };

export const FOREIGN_PAIR = {
  name: 'a foreign pair',
  what:
    'The tools are those of two Python scripts in the form that Gemini CLI documents: the model has one say a text, one ' +
    'print JSON, one fail, one write to standard error, and one say nothing; one call has arguments that do not fit.',
  files: {},
  script: () => ({ turns: [[...CALLS, BAD_CALL]] }),
  declared: declarationsOf({
    tools: PRINTED.map((entry) => ({ functionDeclarations: entry.function_declarations ?? entry.functionDeclarations ?? [entry] })),
  }),
  /** The commands, beside the workspace, so that what they keep is not part of it. */
  pair: (root) => {
    const [discovery, call] = ['discover.py', 'call.py'].map((name) => path.join(root, 'python tools', name));
    writeFile(discovery, DISCOVERY, 0o755);
    writeFile(call, CALL, 0o755);
    return { getTools: discovery, callTool: call };
  },
};

/** By tool, what the call command was handed in a run, with the workspace's path left out. */
export function handedOver({ root, workspace }) {
  const place = path.join(root, 'python tools', HANDED_OVER);
  if (!fs.existsSync(place)) return {};
  return Object.fromEntries(
    fs.readdirSync(place).sort().map((file) => [
      path.basename(file, '.json'),
      fs.readFileSync(path.join(place, file), 'utf8').replaceAll(workspace, '<workspace>').trimEnd().split('\n').map((line) => JSON.parse(line)),
    ]),
  );
}

export async function checkForeignPair(report, { ours, theirs }) {
  const handed = handedOver(theirs.playground);
  await report.claim('the_scripts_of_somebody_else_were_all_called_once', () => {
    assert.deepEqual(Object.keys(handed), CALLS.map(({ tool }) => tool).sort());
    for (const { tool, args } of CALLS) {
      assert.equal(handed[tool].length, 1, `${tool} was called ${handed[tool].length} times`);
      assert.deepEqual(handed[tool][0].arguments, [tool]);
      assert.deepEqual(JSON.parse(handed[tool][0].input), args);
    }
  });
  await report.claim('run_agent_hands_them_the_same_arguments_and_input', () => {
    assert.deepEqual(handedOver(ours.playground), handed);
  });
}
