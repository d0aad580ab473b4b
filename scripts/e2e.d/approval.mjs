// Owns the ways in which a person lets a headless host use our tools, and the claims about what the host then hands to
// `call_tool`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { answersTo, conversation, declarationsOf, declaredName, DISCOVERED } from './records.mjs';
import { outputOf } from './answers.mjs';
import { ending } from './child.mjs';
import { shellWord, writeFile } from './playground.mjs';
import { NETWORK_TOOLS } from './network.mjs';
import { SEVEN_TOOLS } from './seven_tools.mjs';
import { SHELL_TOOLS } from './shell.mjs';

const HOST_NAMES = [...Object.keys({ ...SEVEN_TOOLS, ...SHELL_TOOLS, ...NETWORK_TOOLS }), 'apply_patch'].map((tool) => DISCOVERED + tool);

const ARGUMENTS = 'arguments';
const STDIN = 'stdin';

const FILES = { 'short.txt': 'one line\n' };

/** What a file in the user's `policies` directory says: one rule for a list of tools. */
const POLICY_BY_LIST = rule(JSON.stringify(HOST_NAMES));

// A pattern such as "discovered_tool_*" would be shorter, but 0.61.0 does not show the tools then.
function rule(toolName, decision = 'allow') {
  return `[[rule]]\ntoolName = ${toolName}\ndecision = "${decision}"\npriority = 100\n`;
}

/** Puts the policy into a file and gives the arguments that name it; `decisions` are those on tools that are not just allowed. */
export function policyArguments(playground, decisions = {}) {
  const file = path.join(playground.root, 'policy.toml');
  const rules = HOST_NAMES.map((name) => rule(`"${name}"`, decisions[name.slice(DISCOVERED.length)]));
  writeFile(file, rules.join('\n'));
  return ['--policy', file];
}

const WITH_THE_USERS_POLICIES = {
  name: 'policies_of_the_user',
  prepare: (playground) => writeFile(path.join(playground.home, '.gemini', 'policies', 'gemini-tools.toml'), POLICY_BY_LIST),
};

const WITH_ALLOWED_TOOLS = { name: 'tools_allowed_of_the_settings', settings: { allowed: HOST_NAMES } };

const WITHOUT_APPROVAL = { name: 'no_approval' };

/** Other ways than `--policy` to the same end, where the host asks for one at all. */
export async function checkApprovals(report, play) {
  for (const way of [WITH_THE_USERS_POLICIES, WITH_ALLOWED_TOOLS]) {
    const script = readShortFile();
    const { playground, recorded, session } = await play({ ...way, files: FILES, script });
    await report.claim(`${way.name}_let_the_model_call_a_tool`, () => {
      assert.equal(session.status, 0, `the host ${ending(session)}`);
      assert.ok(outputOf(answersTo(script(playground.workspace), recorded), 'short').includes('one line'));
    });
    await report.claim(`${way.name}_show_the_model_all_tools`, () => {
      const declared = declarationsOf(conversation(recorded)[0].body);
      assert.deepEqual(HOST_NAMES.filter((name) => !declared.has(name)), []);
    });
  }

  const { recorded } = await play({ ...WITHOUT_APPROVAL, files: FILES, script: () => ({ turns: [], closing: 'Done.' }) });
  const declared = declarationsOf(conversation(recorded)[0]?.body);
  const shown = HOST_NAMES.filter((name) => declared.has(name));
  report.info(`without any of these the model is shown ${shown.length} of our ${HOST_NAMES.length} tools`);
}

/** What stands in the arguments and on the standard input of `call_tool`, by way of a recorder in its place. */
export async function checkHandOver(report, play, callTool) {
  const waits = { wait_for_previous: true };
  const script = readShortFile(waits);
  let records;
  const { playground, recorded, session } = await play({
    name: 'hand_over',
    files: FILES,
    script,
    settings: (root) => {
      records = path.join(root, 'records');
      fs.mkdirSync(records, { recursive: true });
      return { callTool: makeRecorder(root, records, callTool) };
    },
    approved: true,
  });

  const declared = declarationsOf(conversation(recorded)[0]?.body);
  const schema = declared.get(declaredName(declared, 'read_file'))?.schema;
  const hostWaits = schema?.properties?.wait_for_previous !== undefined;
  report.info(`the host ${hostWaits ? 'adds' : 'does not add'} wait_for_previous to the schemas`);

  await report.claim('call_tool_is_called_once_with_the_bare_name_alone', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.equal(record(records, ARGUMENTS), 'read_file\n');
  });
  await report.claim('call_tool_gets_the_arguments_and_the_hosts_own_key', () => {
    const expected = { absolute_path: path.join(playground.workspace, 'short.txt'), ...(hostWaits && waits) };
    assert.deepEqual(JSON.parse(record(records, STDIN)), expected);
  });
  await report.claim('the_hosts_own_key_does_no_harm', () => {
    assert.ok(outputOf(answersTo(script(playground.workspace), recorded), 'short').includes('one line'));
  });
}

function record(records, name) {
  const file = path.join(records, name);
  assert.ok(fs.existsSync(file), 'call_tool was never started');
  return fs.readFileSync(file, 'utf8');
}

function readShortFile(hostArgs) {
  return (workspace) => ({
    closing: 'Done.',
    turns: [[{ id: 'short', tool: 'read_file', args: { absolute_path: path.join(workspace, 'short.txt') }, hostArgs }]],
  });
}

function makeRecorder(root, records, callTool) {
  const recorder = path.join(root, 'recorder');
  const stdin = shellWord(path.join(records, STDIN));
  const lines = [
    '#!/bin/sh',
    `printf '%s\\n' "$@" >>${shellWord(path.join(records, ARGUMENTS))}`,
    `cat >${stdin}`,
    `exec ${shellWord(callTool)} "$@" <${stdin}`,
  ];
  writeFile(recorder, `${lines.join('\n')}\n`, 0o755);
  return recorder;
}
