// Owns the comparison with Gemini CLI's edit tools on the cases of tests/edits, and what counts as right there.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { show } from './table.mjs';
import { hasTool, makeHome, OURS, PEERS, startOurs, startPeer } from './tools.mjs';
import { UsageError } from './usage.mjs';

export const PEER_NAMES = Object.keys(PEERS);
export const OUR_NAMES = Object.keys(OURS);

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

/** Has the tools edit the cases, and prints what came of them. */
export async function comparePeers(options) {
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
