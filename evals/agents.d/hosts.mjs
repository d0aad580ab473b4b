// Owns one playing of a scenario: the places on disk, the stand-in, and the host, which is run_agent or a version of
// Gemini CLI. Leaves what is made of the records to agent_structure.mjs.

import fs from 'node:fs';
import path from 'node:path';

import { placeIn } from './scenarios.mjs';
import { policyArguments } from '../../scripts/e2e.d/approval.mjs';
import { endStrays, run } from '../../scripts/e2e.d/child.mjs';
import { startGeminiApi } from '../../scripts/e2e.d/gemini_api.mjs';
import { environment, RUN_LIMIT_MS, runHost } from '../../scripts/e2e.d/host.mjs';
import { makePlayground } from '../../scripts/e2e.d/playground.mjs';
import { conversation, DISCOVERED } from '../../scripts/e2e.d/records.mjs';
import { VERTEX_WITH_TOKEN } from '../../scripts/e2e.d/ways_in.mjs';

export const PROMPT = 'Play the script.';

/** The model that both hosts are told to ask, so that they are compared under the same rules. */
export function modelFor({ knowsPolicies }) {
  return knowsPolicies ? 'gemini-3.1-pro-preview' : 'gemini-2.5-pro';
}

/** Gemini CLI's library asks the metadata server for a token; run_agent is given one. */
const TOKEN = { GOOGLE_CLOUD_ACCESS_TOKEN: 'stand-in' };

/** run_agent as a host. It takes the pair that stands beside it, or that of the project's settings. */
export function ourHost({ runAgent }) {
  return {
    prefix: '',
    commands: {},
    start: (playground, { url, way, model, scenario }) =>
      run(runAgent, ['-m', model, '-p', PROMPT, ...(scenario.unapproved ? [] : ['-y'])], {
        cwd: playground.workspace,
        env: environment(playground, { ...way.variables(url), ...(way === VERTEX_WITH_TOKEN && TOKEN) }),
        limitMs: RUN_LIMIT_MS,
      }),
  };
}

/** A version of Gemini CLI with our pair in the project's settings. */
export function theirHost(cli, { getTools, callTool }) {
  return {
    prefix: cli.knowsPolicies ? DISCOVERED : '',
    commands: { getTools, callTool },
    start: (playground, { url, way, model, scenario }) =>
      runHost(cli, playground, url, PROMPT, ['-m', model, ...approval(cli, playground, scenario)], way),
  };
}

/**
 * With policies, a call that nobody has approved of needs a rule that asks: without any rule, the model is not shown the
 * tool at all. Versions without policies ask nobody about a discovered tool.
 */
function approval(cli, playground, { unapproved }) {
  if (!unapproved) return ['--yolo'];
  return cli.knowsPolicies ? policyArguments(playground, { [unapproved]: 'ask_user' }) : [];
}

/** Plays a scenario; `root` is its directory, which no other run's may begin with. */
export async function play(host, root, { scenario, way, model }) {
  fs.mkdirSync(root, { recursive: true });
  const commands = scenario.pair ? scenario.pair(root) : host.commands;
  const playground = await makePlayground(root, { files: scenario.files, ...commands, way });
  const named = (tool) => host.prefix + tool;
  const api = await startGeminiApi(scenario.script({ at: placeIn(playground.workspace), named }));
  let session;
  try {
    session = await host.start(playground, { url: api.url, way, model, scenario });
  } finally {
    await api.close();
  }
  endStrays(root);
  // For whoever looks into the directories with --keep.
  fs.writeFileSync(path.join(root, 'requests.json'), JSON.stringify(api.recorded, null, 1));
  for (const stream of ['stdout', 'stderr']) fs.writeFileSync(path.join(root, `host.${stream}`), session[stream]);
  return { playground, session, turns: conversation(api.recorded) };
}
