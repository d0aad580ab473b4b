// Owns one process that runs an edit tool of Gemini CLI, a version's class, on one case after the other.
//
//   node host.mjs VERSION_DIRECTORY TOOL      reads lines {root, params} and answers each with a line {said}
//
// TOOL is `replace` or `smart_edit`. No model corrects anything: where it can't be switched off, the client that would
// be asked gives an empty answer.

import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [versionDirectory, toolName] = process.argv.slice(2);
const google = path.join(versionDirectory, 'node_modules', '@google');

// The package logs to stdout, where only the answers belong, and a line about every model that it can't ask.
const answers = process.stdout.write.bind(process.stdout);
for (const level of ['log', 'info', 'debug', 'warn', 'error']) console[level] = () => {};

const noModel = {
  // Without these two strings 0.8.2 throws instead of keeping its first answer.
  generateJson: async () => ({ search: '', replace: '', explanation: '' }),
  getHistory: async () => [],
  generateContent: async () => ({}),
};

/** The module that exports the tool classes: a package of its own up to some version, a chunk of the bundle later. */
async function loadCore() {
  const ownPackage = path.join(google, 'gemini-cli-core');
  if (fs.existsSync(ownPackage)) {
    const load = (file) => import(pathToFileURL(path.join(ownPackage, 'dist', file)).href);
    const core = await load('index.js');
    // The index doesn't export it there.
    const { SmartEditTool } = await load(path.join('src', 'tools', 'smart-edit.js'));
    return { ...core, SmartEditTool };
  }
  const bundle = path.join(google, 'gemini-cli', 'bundle');
  const exportsTools = (file) => /\bEditTool\b/.test(fs.readFileSync(path.join(bundle, file), 'utf8'));
  const entry = fs.readdirSync(bundle).find((file) => /^core-.*\.js$/.test(file) && exportsTools(file));
  if (!entry) throw new Error(`no module with EditTool in ${bundle}`);
  return import(pathToFileURL(path.join(bundle, entry)).href);
}

const core = await loadCore();

async function makeConfig(root) {
  const config = new core.Config({
    sessionId: 'edits',
    targetDir: root,
    cwd: root,
    model: 'gemini-2.5-pro',
    debugMode: false,
    usageStatisticsEnabled: false,
    disableLLMCorrection: true,
  });
  config.getGeminiClient = () => noModel;
  config.getBaseLlmClient = () => noModel;
  await config.storage?.initialize?.();
  return config;
}

async function call({ root, params }) {
  const config = await makeConfig(root);
  const Tool = toolName === 'smart_edit' && core.SmartEditTool ? core.SmartEditTool : core.EditTool;
  const { signal } = new AbortController();
  try {
    const invocation = new Tool(config, config.messageBus ?? config.getMessageBus?.()).build(params);
    // The older versions take the signal itself; both find what they look for on this one.
    signal.abortSignal = signal;
    const result = await invocation.execute(signal);
    return result.error ? result.error.message : String(result.llmContent);
  } catch (error) {
    return `threw ${error.stack ?? error}`;
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const said = await call(JSON.parse(line));
  answers(JSON.stringify({ said }) + '\n');
}
process.exit(0);
