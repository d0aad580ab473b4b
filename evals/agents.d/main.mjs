// Owns the command line, the order of things and the exit status of evals/agents.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { DIFFERENCES, justified } from './differences.mjs';
import { modelFor, ourHost, play, theirHost } from './hosts.mjs';
import { checkReplays } from './replay.mjs';
import { SCENARIOS } from './scenarios.mjs';
import { differencesBetween, structureOf } from './structure.mjs';
import { ending, inOwnDirectory, run } from '../../scripts/e2e.d/child.mjs';
import { checkForeignPair } from './foreign_pair.mjs';
import { install, knowsPolicies } from '../../scripts/e2e.d/host.mjs';
import { filesOf, makePlayground } from '../../scripts/e2e.d/playground.mjs';
import { declarationsOf } from '../../scripts/e2e.d/records.mjs';
import { Report } from '../../scripts/e2e.d/report.mjs';
import { API_KEY, WAYS_IN } from '../../scripts/e2e.d/ways_in.mjs';

const USAGE = `Usage: evals/agents [--run-agent PATH] [--cli VERSION]... [--transport NAME]...
                      [--only SCENARIO]... [--keep]

Plays the same turns of a model to run_agent and to the real Gemini CLI, both
headless and with our pair of commands, and compares the requests that they
send. Every difference has to stand in the list of those that are meant to be.
Besides, each run of run_agent is recorded, and the script played: both must be the same.

  --run-agent PATH   the executable, with get_tools and call_tool beside it
                     (default: bin/run_agent)
  --cli VERSION      a version of @google/gemini-cli, from npm or the cache
                     (default: 0.8.2 and 0.61.0)
  --transport NAME   a way in: ${WAYS_IN.map(({ name }) => name).join(', ')}
                     (default: all; those other than the first with 0.8.2 and
                     some scenarios)
  --only SCENARIO    a scenario, such as 'one call' (default: all)
  --keep             leaves the directories of the runs, with all requests
`;

const VERSIONS = ['0.8.2', '0.61.0'];

/** The version that is compared over all ways in. */
const EVERYWHERE = '0.8.2';

const AT_ONCE = 2;

const EXCERPT_CHARS = 300;

/** Names the commands, which are not at the same place for all. */
const SETTINGS = '.gemini/settings.json';

// A launcher builds at its first use.
const FIRST_USE_LIMIT_MS = 30 * 60_000;

const CHECKOUT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const DOCUMENT = path.join('docs', 'compatibility.md');

const report = new Report();
let base;

async function main(options) {
  const declared = await tryCommands(options);
  if (declared) {
    const comparisons = await playAll(await plannedComparisons(options));
    for (const comparison of comparisons) await judge(comparison, declared);
    report.about('');
    if (options.isWhole && comparisons.length > 0) await judgeAll(comparisons);
  }
  if (declared) await checkReplays(report, base, options);
  report.about('');
  report.summary();
}

function readOptions() {
  const scenarios = SCENARIOS.map(({ name }) => name);
  const ways = WAYS_IN.map(({ name }) => name);
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        'run-agent': { type: 'string' },
        cli: { type: 'string', multiple: true },
        transport: { type: 'string', multiple: true },
        only: { type: 'string', multiple: true },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
    known('--only', values.only, scenarios);
    known('--transport', values.transport, ways);
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  const runAgent = path.resolve(values['run-agent'] ?? path.join(CHECKOUT, 'bin', 'run_agent'));
  const [getTools, callTool] = ['get_tools', 'call_tool'].map((name) => path.join(path.dirname(runAgent), name));
  return {
    runAgent,
    pair: { getTools, callTool },
    versions: values.cli ?? VERSIONS,
    ways: values.transport ?? ways,
    only: values.only ?? scenarios,
    isWhole: !(values.cli ?? values.transport ?? values.only),
    keep: values.keep,
  };
}

function known(option, values = [], all) {
  const odd = values.find((value) => !all.includes(value));
  if (odd !== undefined) throw new Error(`${option}: '${odd}' is none of ${all.join(', ')}`);
}

/**
 * Starts all three commands once without a stand-in, in the caller's own environment: a launcher may have to build first.
 * Returns the declarations that `get_tools` prints, or nothing where one doesn't work.
 */
async function tryCommands({ runAgent, pair }) {
  const place = { cwd: base, env: process.env, limitMs: FIRST_USE_LIMIT_MS };
  let declared;
  const starts = await report.claim('all_three_commands_start', async () => {
    for (const [program, args] of [[runAgent, ['--help']], [pair.getTools, []], [pair.callTool, ['--help']]]) {
      const result = await run(program, args, place);
      assert.equal(result.status, 0, `${program} ${ending(result)}: ${result.stderr}`);
      if (program === pair.getTools) declared = declarationsOf({ tools: [{ functionDeclarations: JSON.parse(result.stdout) }] });
    }
  });
  return starts ? declared : undefined;
}

/** What is played to whom: the hosts, the scenario, the way in, and the model that both ask. */
async function plannedComparisons({ runAgent, pair, versions, ways, only }) {
  const planned = [];
  for (const version of versions) {
    report.about(`${version}:`);
    const installed = await report.claim('gemini_cli_is_installed', async () => {
      const cli = await install(version);
      const root = path.join(base, 'help', version);
      fs.mkdirSync(root, { recursive: true });
      cli.knowsPolicies = await knowsPolicies(cli, await makePlayground(root, { files: {} }));
      const hosts = { ours: ourHost({ runAgent }), theirs: theirHost(cli, pair), model: modelFor(cli), version };
      for (const scenario of SCENARIOS.filter(({ name }) => only.includes(name))) {
        for (const way of WAYS_IN.filter(({ name }) => ways.includes(name))) {
          if (way === API_KEY || (scenario.everywhere && version === EVERYWHERE)) planned.push({ ...hosts, scenario, way });
        }
      }
    });
    if (!installed) break;
  }
  report.about('');
  return planned;
}

/** Adds to each comparison what both hosts did. */
async function playAll(planned) {
  const left = planned.flatMap((comparison, index) => {
    const { ours, theirs, scenario, way, model, version } = comparison;
    // No directory's path may begin with that of another run.
    const root = path.join(base, `${index} ${version} ${way.name} ${scenario.name}`.replaceAll(' ', '-'));
    comparison.played = {};
    return Object.entries({ theirs, ours }).map(([name, host]) => async () => {
      comparison.played[name] = await play(host, path.join(root, name), { scenario, way, model });
    });
  });
  const worker = async () => {
    for (let next = left.shift(); next; next = left.shift()) await next();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return planned;
}

async function judge(comparison, declared) {
  const { scenario, way, version, played } = comparison;
  report.about(`${version}: ${way.name}: ${scenario.name}:`);
  const tools = scenario.declared ?? declared;
  comparison.deeds = { ours: deedsOf(played.ours, tools), theirs: deedsOf(played.theirs, tools) };
  comparison.found = differencesOf(comparison);
  const odd = [...new Set(comparison.found.filter(({ entry }) => !entry).map(inWords))];
  const held = await report.claim('all_differences_are_meant_to_be', () => {
    assert.ok(played.theirs.turns.length > 0, 'Gemini CLI sent nothing');
    assert.equal(odd.length, 0, `${odd.length} are unknown`);
  });
  if (!held) {
    report.quote('unknown differences', odd.join('\n'));
    for (const [name, { session }] of Object.entries(played)) {
      if (session.status === 0) continue;
      report.info(`${name} ${ending(session)}`);
      report.quote('standard error', session.stderr);
    }
  }
  if (scenario.pair) await checkForeignPair(report, played);
}

/** What a host did, in a form in which it can be compared. */
function deedsOf({ session, turns, playground }, declared) {
  const files = Object.entries(filesOf(playground.workspace)).filter(([name]) => name !== SETTINGS);
  return {
    status: session.status,
    files: Object.fromEntries(files.map(([name, bytes]) => [name, bytes.toString('base64')])),
    requests: turns.map((turn) => structureOf(turn, { playground, declared })),
  };
}

function differencesOf({ scenario, way, version, deeds }) {
  return differencesBetween(deeds.ours, deeds.theirs).map((difference) => {
    const about = { ...difference, scenario: scenario.name, way: way.name, version };
    return { ...about, entry: justified(about) };
  });
}

function inWords({ place, ours, theirs }) {
  return `${place.replace(/requests\[\d+\]/, 'requests[…]')}: ours ${excerpt(ours)}, theirs ${excerpt(theirs)}`;
}

function excerpt(value) {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > EXCERPT_CHARS ? `${text.slice(0, EXCERPT_CHARS)}…` : text;
}

async function judgeAll(comparisons) {
  const seen = new Set(comparisons.flatMap(({ found }) => found.map(({ entry }) => entry)));
  await report.claim('every_difference_of_the_list_still_shows', () => {
    assert.deepEqual(DIFFERENCES.filter((entry) => !seen.has(entry)).map(({ id }) => id), []);
  });
  await report.claim('the_documentation_has_every_difference', () => {
    const page = fs.readFileSync(path.join(CHECKOUT, DOCUMENT), 'utf8');
    assert.deepEqual(DIFFERENCES.filter(({ id }) => !page.includes(`\n| ${id} | `)).map(({ id }) => id), []);
  });
}

const options = readOptions();
await inOwnDirectory('gemini-tools-agents-', options.keep, (directory) => {
  base = directory;
  return main(options);
});
process.exitCode = report.failed > 0 ? 1 : 0;
