// Owns the script about commands, background processes and memory, and the claims about what came of it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { answersTo, conversation, declarationsOf, declaredName, turnTimes } from './records.mjs';
import { ending } from './child.mjs';
import { failureOf, outputOf, rawAnswer } from './answers.mjs';

/** The tools that start, watch and end processes, and the one that remembers, with their required parameters. */
export const SHELL_TOOLS = {
  run_shell_command: ['command'],
  list_background_processes: [],
  read_background_output: ['pid'],
  stop_background_process: ['pid'],
  save_memory: ['fact'],
};

const EMOJI_LINE = '👍'.repeat(16);
const EMOJI_LINES = 16_000;
const FACT = 'Tests are run with scripts/check';

/** What tells the sleepers of this run from those of another one on the same machine: a fraction of a second. */
const OWN = String(process.pid).padStart(7, '0');

/** Far more than any of these commands needs, far less than the sleepers that they start. */
const AT_ONCE_MS = 20_000;

export function shellScript() {
  const shell = (id, command, others = {}) => ({ id, tool: 'run_shell_command', args: { command, ...others } });
  const pidOf = (marker) => (responses) => {
    const text = responses.map((response) => JSON.stringify(response)).find((response) => response.includes(marker)) ?? '';
    return Number(/Background PIDs: (\d+)/.exec(text)?.[1] ?? 0);
  };
  const sleeper = pidOf(`sleep 300.${OWN} &`);
  const server = pidOf('is ready');
  return {
    closing: 'All commands were run.',
    turns: [
      [shell('background', `sleep 300.${OWN} & echo started`)],
      [shell('after', 'echo the host goes on')],
      [{ id: 'list', tool: 'list_background_processes', args: {} }],
      [{ id: 'stop', tool: 'stop_background_process', args: (responses) => ({ pid: sleeper(responses) }) }],
      [shell('gone', `pgrep -f "sleep 30[0].${OWN}" || echo no sleeper is left`)],
      [shell('emoji', `for i in $(seq ${EMOJI_LINES}); do echo "${EMOJI_LINE}"; done`, { raw: true })],
      [shell('stdin', 'cat; read x; echo end')],
      [shell('stubborn', `trap '' TERM; echo before; (trap '' TERM; setsid sleep 301.${OWN}) & sleep 302.${OWN}; sleep 303.${OWN}`, { timeout: 1 })],
      [shell('stubborn-gone', `pgrep -f "sleep 30[1-3].${OWN}" || echo nothing is left`)],
      [shell('code', 'echo to stderr >&2; exit 3'), shell('signal', 'kill -9 $$')],
      [shell('server', 'sleep 0.5; echo the server is ready; sleep 300', { is_background: true })],
      [
        {
          id: 'ready',
          tool: 'read_background_output',
          args: (responses) => ({ pid: server(responses), pattern: 'is ready' }),
        },
      ],
      [{ id: 'stop-server', tool: 'stop_background_process', args: (responses) => ({ pid: server(responses) }) }],
      [{ id: 'memory', tool: 'save_memory', args: { fact: FACT } }],
    ],
  };
}

export async function checkShell(report, { script, recorded, session, playground, ours }) {
  await report.claim('the_host_runs_commands_to_the_end_of_the_script', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(session.stdout.includes(script.closing), 'the closing text was not printed');
  });
  const requests = conversation(recorded);
  if (requests.length === 0) return;
  const declared = declarationsOf(requests[0].body);
  for (const [tool, required] of Object.entries(SHELL_TOOLS)) {
    await report.claim(`the_model_sees_${tool}`, () => {
      const seen = declared.get(declaredName(declared, tool));
      assert.ok(seen?.description.startsWith(ours.get(tool).description), 'another tool of the name, or none');
      assert.deepEqual([...(seen.schema.required ?? [])].sort(), required);
    });
  }

  const answers = answersTo(script, recorded);
  const output = (id) => outputOf(answers, id);
  await report.claim('a_command_that_starts_a_sleeper_returns_at_once_and_the_host_goes_on', () => {
    assert.match(output('background'), /\nOutput: started\n[^]*\nBackground PIDs: \d+\n/);
    assert.match(output('after'), /\nOutput: the host goes on\n/);
    const [first] = turnTimes(script, recorded);
    assert.ok(first.ms < AT_ONCE_MS, `it took ${Math.round(first.ms)} ms`);
  });
  await report.claim('a_background_process_is_listed_and_stopped_by_later_calls', () => {
    assert.match(output('list'), new RegExp(`^\\d+ running: sleep 300\\.${OWN} & echo started`));
    assert.match(output('stop'), /was ended \(1 process\)/);
    assert.match(output('gone'), /\nOutput: no sleeper is left\n/);
  });
  await report.claim('a_megabyte_of_emoji_arrives_cut_with_its_marker_and_undamaged', () => {
    assert.ok(!rawAnswer(answers, 'emoji').includes('\uFFFD'), 'it holds U+FFFD');
    const text = output('emoji');
    const [, file] = /\[Truncated: \d+ characters in \d+ lines are left out here\. The whole output is in ([^;]+);/.exec(text) ?? [];
    assert.ok(file, 'no marker');
    const shown = text.slice(text.indexOf('\nOutput: ') + 9, text.lastIndexOf('\nError: '));
    const odd = shown.split('\n').filter((line) => line !== EMOJI_LINE && !line.startsWith('[Truncated: '));
    assert.deepEqual(odd, []);
    const whole = fs.readFileSync(file, 'utf8');
    assert.ok(whole === `${EMOJI_LINE}\n`.repeat(EMOJI_LINES), `${whole.length} characters are in the file`);
  });
  await report.claim('a_command_that_waits_on_stdin_ends_at_once', () => {
    assert.match(output('stdin'), /\nOutput: end\n/);
  });
  await report.claim('a_command_that_ignores_sigterm_is_gone_after_the_limit', () => {
    const failure = failureOf(answers, 'stubborn');
    assert.equal(failure.errorType, 'timeout');
    assert.equal(failure.status, 124);
    assert.match(failure.error, /\nOutput: before\n[^]*ended after 1 s/);
    assert.match(output('stubborn-gone'), /\nOutput: nothing is left\n/);
  });
  await report.claim('a_failing_command_is_a_success_of_the_tool', () => {
    assert.match(output('code'), /\nOutput: to stderr\n[^]*\nExit Code: 3\n/);
    assert.match(output('signal'), /\nExit Code: \(none\)\nSignal: SIGKILL\n/);
  });
  await report.claim('a_server_is_started_waited_for_and_stopped', () => {
    assert.match(output('server'), /\nBackground Output: /);
    assert.match(output('ready'), /matches "is ready"/);
    assert.match(output('stop-server'), /was ended/);
  });
  await report.claim('a_fact_is_in_the_users_memory_file', () => {
    assert.equal(JSON.parse(output('memory')).success, true);
    const file = path.join(playground.home, '.gemini', 'GEMINI.md');
    assert.equal(fs.readFileSync(file, 'utf8'), `## Gemini Added Memories\n- ${FACT}\n`);
  });
  await report.claim('no_process_of_a_command_is_left_behind', () => assert.deepEqual(session.leftBehind, []));
}
