// Owns the policy engine of the real Gemini CLI: one process that judges the cases of tests/policy, one line each.
//
//   node engine.mjs VERSION_DIRECTORY SCRATCH      reads cases as JSON lines, answers each with {decision} or {threw}
//
// The engine is the class of the package, its rules are made by the package's own functions from real files; nothing is
// copied or reimplemented here.

import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [versionDirectory, scratch] = process.argv.slice(2);

// The package logs to stdout, where only the answers belong.
const answer = process.stdout.write.bind(process.stdout);
for (const level of ['log', 'info', 'debug', 'warn', 'error']) console[level] = () => {};
process.stdout.write = () => true;

async function loadCore() {
  const bundle = path.join(versionDirectory, 'node_modules', '@google', 'gemini-cli', 'bundle');
  const exportsEngine = (file) => /\bcreatePolicyEngineConfig,/.test(fs.readFileSync(path.join(bundle, file), 'utf8'));
  const entry = fs.readdirSync(bundle).find((file) => /^core-.*\.js$/.test(file) && exportsEngine(file));
  if (!entry) throw new Error(`no module with PolicyEngine in ${bundle}`);
  return { core: await import(pathToFileURL(path.join(bundle, entry)).href), bundle };
}

const { core, bundle } = await loadCore();

function writeFiles(directory, texts = []) {
  fs.mkdirSync(directory, { recursive: true });
  texts.forEach((text, i) => fs.writeFileSync(path.join(directory, `${i + 1}.toml`), text));
  return directory;
}

const MODES = { default: 'default', auto_edit: 'autoEdit', yolo: 'yolo', plan: 'plan' };

let count = 0;
async function judge({ policies = {}, settings = {}, mode = 'default', interactive = true, call }) {
  count += 1;
  const base = path.join(scratch, String(count));
  const home = path.join(base, 'home');
  const work = path.join(base, 'work');
  fs.mkdirSync(work, { recursive: true });
  process.env.HOME = home;
  process.env.GEMINI_CLI_HOME = home;
  process.chdir(work);
  writeFiles(path.join(home, '.gemini', 'policies'), policies.user);
  const all = { ...settings };
  if (policies.workspace) all.workspacePoliciesDir = writeFiles(path.join(work, '.gemini', 'policies'), policies.workspace);
  if (policies.admin) all.adminPolicyPaths = [writeFiles(path.join(base, 'admin'), policies.admin)];
  const config = await core.createPolicyEngineConfig(all, MODES[mode], path.join(bundle, 'policies'), interactive);
  if (policies.extension) {
    const added = await core.loadExtensionPolicies('x', writeFiles(path.join(base, 'extension'), policies.extension));
    config.rules.push(...added.rules);
  }
  const engine = new core.PolicyEngine(config);
  const name = call.server ? `mcp_${call.server}_${call.tool}`.replace(/[^a-zA-Z0-9_.:-]/g, '_') : call.name;
  if (call.listed) {
    const annotations = call.annotations ? new Map([[name, call.annotations]]) : undefined;
    return engine.getExcludedTools(annotations, new Set([name])).has(name) ? 'hidden' : 'listed';
  }
  const verdict = await engine.check({ name, args: call.args ?? {} }, call.server, call.annotations);
  return verdict.decision;
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  let said;
  try {
    said = { decision: await judge(JSON.parse(line)) };
  } catch (error) {
    said = { threw: String(error.stack ?? error) };
  }
  answer(JSON.stringify(said) + '\n');
}
process.exit(0);
