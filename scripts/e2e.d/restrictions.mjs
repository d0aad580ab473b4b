// Owns the script of a command that writes, and the claims that what restricts commands holds in the host: the key of the
// settings that is ours alone, and a variable that the host keeps back in a workflow.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { ending } from './child.mjs';
import { writeFile } from './playground.mjs';

const WRITTEN = 'written.txt';

const CASES = {
  unrestricted: { writes: true },
  command_sandbox: { key: 'read-only', writes: false },
  variable_in_a_workflow: { variables: { GITHUB_SHA: '0123abc', GEMINI_TOOLS_SANDBOX: 'read-only' }, writes: false },
};

function script() {
  return {
    closing: 'The command was run.',
    turns: [[{ id: 'write', tool: 'run_shell_command', args: { command: `echo x > ${WRITTEN}` } }]],
  };
}

export async function checkRestrictions(report, play) {
  for (const [name, { key, variables, writes }] of Object.entries(CASES)) {
    const prepare = ({ workspace }) => {
      if (!key) return;
      const file = path.join(workspace, '.gemini', 'settings.json');
      const settings = JSON.parse(fs.readFileSync(file, 'utf8'));
      settings.tools.commandSandbox = key;
      writeFile(file, JSON.stringify(settings));
    };
    const played = await play({ name: `restrictions_${name}`, files: {}, script, settings: { variables }, prepare, approved: true });
    await report.claim(`a_command_${writes ? 'writes' : 'can_not_write'}_with_${name}`, () => {
      assert.equal(played.session.status, 0, `the host ${ending(played.session)}`);
      assert.ok(played.session.stdout.includes(script().closing), 'the closing text was not printed');
      assert.equal(fs.existsSync(path.join(played.playground.workspace, WRITTEN)), writes);
    });
  }
}
