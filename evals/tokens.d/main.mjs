// Owns the command line, the runs and the table of evals/tokens.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { ending, run } from '../../scripts/e2e.d/child.mjs';
import { startGeminiApi } from '../../scripts/e2e.d/gemini_api.mjs';
import { cacheDirectory, install, runHost } from '../../scripts/e2e.d/host.mjs';
import { makePlayground } from '../../scripts/e2e.d/playground.mjs';
import { answersTo } from '../../scripts/e2e.d/records.mjs';
import { tokenizer } from './tokenizer.mjs';
import { calls, logCalls, logFiles, projectFiles } from './calls.mjs';

const FACTS = JSON.parse(fs.readFileSync(new URL('../../tests/logs/facts.json', import.meta.url)));
const VERSION = '0.61.0';
const CALL_LIMIT_MS = 60_000;

/** The project's root as both sides' answers are counted: not the temporary directory's long name, but one as people have. */
const ROOT = '/home/you/src/project';

/** How many calls one session of Gemini CLI makes. */
const CALLS_PER_SESSION = 10;

const USAGE = `Usage: evals/tokens [--call-tool PATH] [--calls] [--text DIR]

Makes forty calls with the tools of the real Gemini CLI ${VERSION}, and with
call_tool, in the same project, and counts the tokens of what a model gets to
read of each answer, with the tokenizer o200k_base.

  --call-tool PATH  the call command (default: bin/call_tool)
  --logs            makes other calls: they print the logs of tests/logs
  --facts           the same, and shows of each log how many of its facts, which
                    tests/logs/facts.json marks, are in our answer
  --calls           shows each call
  --text DIR        writes the texts of the answers below DIR

Gemini CLI and the tokenizer come from npm, at first use, and are kept in
\${GEMINI_TOOLS_CACHE:-\${XDG_CACHE_HOME:-~/.cache}/gemini-tools}.
`;

function readOptions() {
  const checkout = fileURLToPath(new URL('../..', import.meta.url));
  const { values } = parseArgs({
    options: {
      'call-tool': { type: 'string', default: path.join(checkout, 'bin', 'call_tool') },
      logs: { type: 'boolean', default: false },
      facts: { type: 'boolean', default: false },
      calls: { type: 'boolean', default: false },
      text: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  return values;
}

/** What a model reads of a response: its text, not the JSON around it, which is the same for all. */
function textOf(response) {
  return response.output ?? response.error ?? JSON.stringify(response);
}

/** A project with what the calls need, and the calls. */
async function prepare(directory, logs) {
  const playground = await makePlayground(directory, { files: logs ? logFiles() : projectFiles() });
  return { playground, list: logs ? logCalls() : calls(playground.workspace) };
}

/** The texts that Gemini CLI's own tools send to the model. */
async function theirs(base, logs) {
  const host = await install(VERSION);
  const { playground, list } = await prepare(path.join(base, 'theirs'), logs);
  const texts = [];
  // A long session would have its history shortened.
  for (let first = 0; first < list.length; first += CALLS_PER_SESSION) {
    const turns = list.slice(first, first + CALLS_PER_SESSION).map(([, tool, args], n) => [{ id: String(first + n), tool, args }]);
    const script = { closing: 'Done.', turns };
    const api = await startGeminiApi(script);
    let session;
    try {
      session = await runHost(host, playground, api.url, 'Make the calls.', ['--yolo']);
    } finally {
      await api.close();
    }
    const answers = answersTo(script, api.recorded);
    for (const [{ id }] of turns) {
      const answer = answers.get(id);
      if (!answer) throw new Error(`Gemini CLI gave no answer to call ${id}; it ${ending(session)}\n${session.stderr}`);
      texts.push(textOf(answer.functionResponse.response).replaceAll(playground.workspace, ROOT));
    }
  }
  return texts;
}

/** The texts of our answers. */
async function ours(base, callTool, logs) {
  const { playground, list } = await prepare(path.join(base, 'ours'), logs);
  const texts = [];
  for (const [, tool, args] of list) {
    const env = { PATH: process.env.PATH, HOME: playground.home, TMPDIR: playground.temporary, LANG: 'C.UTF-8', GEMINI_CLI_TRUST_WORKSPACE: 'true' };
    const result = await run(callTool, [tool], { cwd: playground.workspace, env, input: JSON.stringify(args), limitMs: CALL_LIMIT_MS });
    const { functionResponse } = JSON.parse(result.stdout);
    texts.push(textOf(functionResponse.response).replaceAll(playground.workspace, ROOT));
  }
  return texts;
}

function row(cells) {
  return `| ${cells.join(' | ')} |`;
}

function ratio(our, their) {
  return (our / their).toFixed(2);
}

/** A line with the facts of a log that are in a text. */
function factsOf(position, text, share) {
  const name = Object.keys(logFiles())[position].replace(/^logs\/|\.gz$/g, '');
  const facts = FACTS[name];
  const missing = facts.filter((fact) => !text.includes(fact));
  return [`${facts.length - missing.length}/${facts.length}`.padStart(6), share, name, ...missing.map((fact) => `\n       missing: ${fact}`)].join(' ');
}

async function main() {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  options.logs ||= options.facts;
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'gemini-tools-tokens-'));
  try {
    const count = await tokenizer();
    const [their, our] = [await theirs(base, options.logs), await ours(base, path.resolve(options['call-tool']), options.logs)];
    const list = options.logs ? logCalls() : calls(ROOT);
    const kinds = new Map();
    list.forEach(([kind, tool, args], position) => {
      const both = [count(their[position]), count(our[position])];
      const sum = kinds.get(kind) ?? { calls: 0, their: 0, our: 0 };
      kinds.set(kind, { calls: sum.calls + 1, their: sum.their + both[0], our: sum.our + both[1] });
      if (options.facts) console.log(factsOf(position, our[position], ratio(both[1], both[0])));
      if (options.calls) console.log(`${String(position).padStart(2)} ${both.map((n) => String(n).padStart(6)).join(' ')}  ${tool} ${JSON.stringify(args).slice(0, 90)}`);
      if (options.text) {
        fs.mkdirSync(options.text, { recursive: true });
        fs.writeFileSync(path.join(options.text, `${position}-theirs.txt`), their[position]);
        fs.writeFileSync(path.join(options.text, `${position}-ours.txt`), our[position]);
      }
    });
    const all = [...kinds.values()].reduce((a, b) => ({ calls: a.calls + b.calls, their: a.their + b.their, our: a.our + b.our }));
    console.log(row(['Calls', 'Number', `Gemini CLI ${VERSION}`, 'gemini-tools', 'Ratio']));
    console.log(row(['---', '---', '---', '---', '---']));
    for (const [kind, sum] of [...kinds, ['all', all]]) console.log(row([kind, sum.calls, sum.their, sum.our, ratio(sum.our, sum.their)]));
    return 0;
  } finally {
    fs.rmSync(base, { recursive: true, force: true });
  }
}

process.exitCode = await main();
