// Owns one run from beginning to end: places on disk, the stand-in, the host, and the tidying up after all three.

import fs from 'node:fs';
import path from 'node:path';

import { startGeminiApi } from './gemini_api.mjs';
import { ending, endStrays } from './child.mjs';
import { runHost } from './host.mjs';
import { makePlayground, refusedHosts } from './playground.mjs';
import { turnTimes } from './records.mjs';
import { policyArguments } from './approval.mjs';

const PROMPT = 'Play the script.';

/**
 * Gives a function that plays one session:
 * `script` makes the script from the workspace's path; `settings` (or a function of the run's directory that returns
 * them) overrides the commands and what else a playground is made from; `prepare` gets the playground before the host
 * starts; `approved` asks for the policy file, where the host has policies; `args` are the host's.
 */
export function sessionPlayer(report, { base, host, hasPolicies, commands }) {
  return async ({ name, files, script, settings = {}, prepare, approved = false, args = [] }) => {
    const root = path.join(base, host.version, name);
    fs.mkdirSync(root, { recursive: true });
    const own = typeof settings === 'function' ? settings(root) : settings;
    const playground = await makePlayground(root, { files, ...commands, ...own });
    await prepare?.(playground);

    const played = script(playground.workspace);
    const api = await startGeminiApi(played);
    let session;
    try {
      session = await runHost(host, playground, api.url, PROMPT, [
        ...(approved && hasPolicies ? policyArguments(playground) : []),
        ...args,
      ]);
    } finally {
      await api.close();
    }
    session.leftBehind.push(...endStrays(root));
    keep(root, session, api.recorded);
    report.info(`${name}: ${seconds(session.durationMs)} in the host; requests: ${requestCount(api.recorded)}`);
    for (const { tools, ms } of turnTimes(played, api.recorded)) report.info(`${name}: ${tools.join(' + ')}: ${Math.round(ms)} ms`);
    const refused = refusedHosts(playground);
    if (refused.length > 0) report.info(`${name}: kept from reaching ${refused.join(', ')}`);
    if (session.status !== 0) {
      report.info(`${name}: the host ${ending(session)}`);
      report.quote('its standard output', session.stdout);
      report.quote('its standard error', session.stderr);
    }
    return { playground, recorded: api.recorded, session };
  };
}

/** For whoever looks into the directories with --keep. */
function keep(root, session, recorded) {
  fs.writeFileSync(path.join(root, 'host.stdout'), session.stdout);
  fs.writeFileSync(path.join(root, 'host.stderr'), session.stderr);
  fs.writeFileSync(path.join(root, 'requests.json'), JSON.stringify(recorded, null, 1));
}

function requestCount(recorded) {
  const counts = new Map();
  for (const { kind } of recorded) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} of kind '${kind}'`).join(', ') || 'none';
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`;
}
