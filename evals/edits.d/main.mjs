// Owns the command line of evals/edits: which tools edit which cases, and what counts as right.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { show } from './table.mjs';
import { hasTool, makeHome, OURS, PEERS, startOurs, startPeer } from './tools.mjs';

const CASES = fileURLToPath(new URL('../../tests/edits/cases.jsonl', import.meta.url));

const USAGE = `Usage: evals/edits [--call-tool PATH] [--kind K]... [--tool T]... [--json FILE]

Has edit tools apply the edits of tests/edits/cases.jsonl, whose strings are
wrong in the ways of language models, and counts what was applied correctly,
what was refused, and what was applied wrongly. The tools are those of the real
Gemini CLI, with correction by a model off, and our own.

  --call-tool PATH  also measures the call command at PATH: its replace, and
                    its smart_edit if it has one
  --kind K          only the cases of this kind
  --tool T          only the tools whose name contains T, of
                    ${[...Object.keys(PEERS), ...Object.keys(OURS)].join(', ')}
  --json FILE       writes every single outcome as a line, with what the tool said
                    and, where it is wrong, what it left in the file
  --cases FILE      other cases (default: tests/edits/cases.jsonl)

The cases are described in
tests/edits/README.md. Versions of Gemini CLI come from npm, at first use, and
are kept in \${GEMINI_TOOLS_CACHE:-\${XDG_CACHE_HOME:-~/.cache}/gemini-tools}.
`;

class UsageError extends Error {}

function readOptions() {
  const { values } = parseArgs({
    options: {
      'call-tool': { type: 'string' },
      kind: { type: 'string', multiple: true, default: [] },
      tool: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
      cases: { type: 'string', default: CASES },
      help: { type: 'boolean', short: 'h' },
    },
  });
  return values;
}

function readCases({ cases, kind }) {
  const all = fs.readFileSync(cases, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  const chosen = all.filter((entry) => kind.length === 0 || kind.includes(entry.kind));
  if (chosen.length > 0) return chosen;
  const kinds = [...new Set(all.map((entry) => entry.kind))].join(', ');
  throw new UsageError(`there is no case of the kind ${kind.join(', ')}; the kinds are ${kinds}`);
}

/** What became of the file: correct, refused (which is correct for a trap), or wrong, and which result it is. */
function judge(entry, bytes, said) {
  const same = (text) => bytes.equals(Buffer.from(text));
  const result = entry.after.findIndex(same);
  const outcome = result >= 0 ? 'correct' : same(entry.before) ? 'refused' : 'wrong';
  return { ...(result >= 0 && { result }), outcome, said, ...(outcome === 'wrong' && { left: bytes.toString() }) };
}

async function editCase(tool, entry, base) {
  const root = fs.mkdtempSync(path.join(base, 'case-'));
  try {
    const file = path.join(root, entry.file_path);
    fs.writeFileSync(file, entry.before);
    const said = await tool.edit(root, file, entry);
    return judge(entry, fs.readFileSync(file), said.replaceAll(root, '.'));
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
}

/** The tools to measure, by name: a function that starts each. */
async function chooseTools(options, home) {
  const chosen = new Map();
  const isWanted = (name) => options.tool.length === 0 || options.tool.some((part) => name.includes(part));
  for (const [name, peer] of Object.entries(PEERS)) {
    if (isWanted(name)) chosen.set(name, () => startPeer(peer, home));
  }
  const callTool = options['call-tool'] && path.resolve(options['call-tool']);
  for (const [name, tool] of Object.entries(OURS)) {
    if (!callTool || !isWanted(name)) continue;
    if (await hasTool(callTool, tool, home)) chosen.set(name, () => startOurs(callTool, tool, home));
    else console.error(`left out: ${callTool} has no ${tool}`);
  }
  if (chosen.size === 0) throw new UsageError('no tool to measure');
  return chosen;
}

async function main() {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(USAGE);
    return;
  }
  const cases = readCases(options);
  const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'gemini-tools-edits-')));
  const outcomes = [];
  try {
    const tools = await chooseTools(options, makeHome(base));
    for (const [name, start] of tools) {
      const tool = await start();
      for (const entry of cases) {
        const { id, kind, variant, expect } = entry;
        outcomes.push({ tool: name, id, kind, variant, expect, ...(await editCase(tool, entry, base)) });
      }
      tool.stop();
    }
  } finally {
    fs.rmSync(base, { recursive: true, force: true });
  }
  process.stdout.write(show(outcomes));
  if (options.json) fs.writeFileSync(options.json, outcomes.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof UsageError || error.code?.startsWith('ERR_PARSE_ARGS');
  console.error(`evals/edits: ${isUsage ? error.message : (error.stack ?? error)}`);
  process.exitCode = 2;
}
