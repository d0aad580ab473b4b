// Owns the command line of evals/many-tools, and its measure.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { cacheDirectory } from '../../scripts/e2e.d/host.mjs';
import { tokenizer } from '../tokens.d/tokenizer.mjs';

const at = (file) => fileURLToPath(new URL(file, import.meta.url));

const VERSION = '2026.3.23';

/** The parts of BFCL in which a question is about one function. */
const PARTS = ['simple_java', 'simple_javascript', 'simple_python', 'live_simple', 'multiple', 'live_multiple', 'parallel', 'live_parallel'];

const USAGE = `Usage: evals/many-tools [--call-tool PATH] [--misses N]

Declares all functions of the Berkeley Function Calling Leaderboard (PyPI
bfcl-eval ${VERSION}) as the tools of one MCP server, asks search_mcp_tools each
question, as it is, and prints how often the right function is the first, among
the first five and named at all, what is declared in their place, and the time
of a search.

  --call-tool PATH  the call command to measure, beside its get_tools
                    (default: target/debug/call_tool)
  --misses N        prints N questions whose function is not among the five
`;

const lines = (file) => fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));

function succeed(program, args, options = {}) {
  const result = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 30, ...options });
  if (result.status !== 0) throw new Error(`${program} ${args.slice(0, 3).join(' ')}: ${result.stderr || result.error}`);
  return result.stdout;
}

/** The directory with BFCL's data, which is brought into the cache where it is missing. */
function dataDirectory() {
  const home = path.join(cacheDirectory(), 'bfcl', VERSION);
  if (!fs.existsSync(home)) {
    fs.mkdirSync(path.dirname(home), { recursive: true });
    const work = fs.mkdtempSync(path.join(path.dirname(home), '.unfinished-'));
    succeed('python3', ['-m', 'pip', '--quiet', 'download', '--no-deps', '--dest', work, `bfcl-eval==${VERSION}`]);
    const wheel = fs.readdirSync(work).find((file) => file.endsWith('.whl'));
    succeed('python3', ['-m', 'zipfile', '-e', path.join(work, wheel), path.join(work, 'data')]);
    fs.renameSync(path.join(work, 'data'), home);
    fs.rmSync(work, { recursive: true });
  }
  return path.join(home, 'bfcl_eval/data');
}

/** BFCL writes Python's names of types in some schemas. */
const TYPES = { dict: 'object', float: 'number', tuple: 'array', any: 'string', String: 'string', ArrayList: 'array', HashMap: 'object' };

function asJsonSchema(schema) {
  if (Array.isArray(schema)) return schema.map(asJsonSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [key, key === 'type' && TYPES[value] ? TYPES[value] : asJsonSchema(value)]);
  return Object.fromEntries(entries);
}

function readData(directory) {
  const tools = new Map();
  const questions = [];
  for (const part of PARTS) {
    const answers = new Map(lines(path.join(directory, `possible_answer/BFCL_v4_${part}.json`)).map((row) => [row.id, row.ground_truth]));
    for (const row of lines(path.join(directory, `BFCL_v4_${part}.json`))) {
      for (const { name, description, parameters } of row.function) {
        if (!tools.has(name)) tools.set(name, { name, description: description ?? '', inputSchema: asJsonSchema(parameters) });
      }
      const names = new Set(answers.get(row.id).flatMap((call) => Object.keys(call)));
      const said = row.question.flat().filter((message) => message.role === 'user').map((message) => message.content);
      if (names.size === 1) questions.push({ query: said.join('\n'), name: [...names][0] });
    }
  }
  return { tools: [...tools.values()], questions };
}

async function main() {
  const { values } = parseArgs({
    options: { 'call-tool': { type: 'string' }, misses: { type: 'string', default: '0' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return console.log(USAGE);
  const callTool = path.resolve(values['call-tool'] ?? at('../../target/debug/call_tool'));
  const { tools, questions } = readData(dataDirectory());
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'many-tools.'));
  try {
    fs.mkdirSync(path.join(work, 'home/.gemini'), { recursive: true });
    fs.writeFileSync(path.join(work, 'tools.json'), JSON.stringify(tools));
    const server = { command: process.execPath, args: [at('server.mjs'), path.join(work, 'tools.json')] };
    fs.writeFileSync(path.join(work, 'home/.gemini/settings.json'), JSON.stringify({ mcpServers: { b: server } }));
    const env = { PATH: process.env.PATH, HOME: path.join(work, 'home'), LANG: 'C.UTF-8' };
    const options = { cwd: work, env };
    const getTools = path.join(path.dirname(callTool), 'get_tools');
    const declared = JSON.parse(succeed(getTools, ['--mcp', '--only', '*mcp*'], options));
    const all = JSON.parse(succeed(getTools, ['--mcp', '--kinds'], options)).filter((tool) => tool.mcp);
    const original = new Map(all.map((tool) => [tool.name, tool.mcp.tool]));
    const ask = ({ query }, id) => JSON.stringify({ id: String(id), name: 'search_mcp_tools', args: { query } });
    const batch = (asked) => succeed(callTool, ['--batch'], { ...options, input: `${asked.map(ask).join('\n')}\n` });
    const began = process.hrtime.bigint();
    // Searches run beside each other, and are answered in the order in which they end.
    const answers = batch(questions).trim().split('\n').map((line) => JSON.parse(line).functionResponse);
    answers.sort((a, b) => a.id - b.id);
    const millis = Number(process.hrtime.bigint() - began) / 1e6;
    await report({ questions, answers, original, tools, declared, millis, misses: Number(values.misses) });
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

async function report({ questions, answers, original, tools, declared, millis, misses }) {
  const places = questions.map(({ name }, at) => {
    const text = answers[at].response.output;
    const described = text.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line).name);
    const found = [...described, ...(text.match(/^Less likely: (.*)$/m)?.[1].split(', ') ?? [])];
    return found.findIndex((one) => original.get(one) === name);
  });
  const share = (limit) => `${((100 * places.filter((place) => place >= 0 && place < limit).length) / questions.length).toFixed(1)} %`;
  const count = await tokenizer();
  console.log(`${tools.length} functions, of which ${original.size} are declared; ${questions.length} questions`);
  console.log(`first ${share(1)}, among five ${share(5)}, named ${share(15)}`);
  console.log(`declared in their place: ${count(JSON.stringify(declared))} tokens, in place of ${count(JSON.stringify(tools))}`);
  console.log(`a search takes ${(millis / questions.length).toFixed(1)} ms`);
  const missed = questions.filter((_, at) => places[at] < 0 || places[at] >= 5);
  for (const { query, name } of missed.slice(0, misses)) console.log(`${name}: ${query.slice(0, 120).replaceAll('\n', ' ')}`);
}

await main();
