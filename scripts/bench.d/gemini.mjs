// Runs one of Gemini CLI's own tool classes, so that its cost can be measured beside ours.
//
//   node gemini.mjs PACKAGE RG ROOT CLASS ARGUMENTS                    prints what the model would get
//   node gemini.mjs PACKAGE RG ROOT CLASS ARGUMENTS TIMES [FROM TO]    prints the milliseconds of each execute(),
//                                                                      copying FROM to TO before each
//   node gemini.mjs PACKAGE RG ROOT declarations                       prints the declarations of the file tools
//
// PACKAGE is the folder of the installed npm package, ROOT the workspace.

import { copyFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const FILE_TOOLS = [
  'ReadFileTool',
  'WriteFileTool',
  'EditTool',
  'LSTool',
  'GlobTool',
  'RipGrepTool',
  'ReadManyFilesTool',
];

const [packageDir, ripgrep, root, className, argumentText, times, restoreFrom, restoreTo] = process.argv.slice(2);

// The package logs to stdout, where only the answer belongs.
console.log = console.info = console.debug = console.error;

const { main } = JSON.parse(readFileSync(path.join(packageDir, 'package.json'), 'utf8'));
const core = await import(pathToFileURL(path.join(packageDir, main)).href);

const config = new core.Config({
  sessionId: 'bench',
  targetDir: root,
  cwd: root,
  model: 'gemini-2.5-pro',
  debugMode: false,
  usageStatisticsEnabled: false,
  // A failed edit would otherwise ask the model for help.
  disableLLMCorrection: true,
});
// The package from npm has no ripgrep of its own; without one it searches in JavaScript.
config.getRipgrepPath = async () => ripgrep;
await config.storage.initialize();

function makeTool(name) {
  return new core[name](config, config.messageBus);
}

async function execute(tool) {
  const invocation = tool.build(JSON.parse(argumentText));
  const result = await invocation.execute({ abortSignal: new AbortController().signal });
  if (result.error) throw new Error(result.error.message);
  return result.llmContent;
}

async function timeExecutions(tool, count) {
  const measured = [];
  // The first one, in a cold virtual machine, is what the whole process shows.
  for (let run = 0; run <= count; run += 1) {
    if (restoreFrom) copyFileSync(restoreFrom, restoreTo);
    const start = performance.now();
    await execute(tool);
    if (run > 0) measured.push(performance.now() - start);
  }
  return measured;
}

async function answer() {
  if (className === 'declarations') return JSON.stringify(FILE_TOOLS.map((name) => makeTool(name).schema));
  const tool = makeTool(className);
  if (times) return JSON.stringify(await timeExecutions(tool, Number(times)));
  return JSON.stringify(await execute(tool));
}

process.stdout.write(await answer(), () => process.exit(0));
