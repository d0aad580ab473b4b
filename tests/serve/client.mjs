// The official client: lists every tool and makes the calls that standard input names, over the way that the
// arguments say: `stdio PROGRAM` or `http ADDRESS TOKEN`. For "$PID" the process stands that the last command has left in
// the background. Prints one JSON document.

import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [packages, way, target, token] = process.argv.slice(2);
const part = (name) => import(pathToFileURL(path.join(packages, 'sdk/dist/esm', name)).href);
const { Client } = await part('client/index.js');
const { StdioClientTransport } = await part('client/stdio.js');
const { StreamableHTTPClientTransport } = await part('client/streamableHttp.js');
const { ElicitRequestSchema, ListRootsRequestSchema, ToolListChangedNotificationSchema } = await part('types.js');

const { calls, roots } = JSON.parse(fs.readFileSync(0, 'utf8'));
const capabilities = { elicitation: {}, ...(roots && { roots: { listChanged: true } }) };
const client = new Client({ name: 'gemini-cli-mcp-client-tests', version: '1' }, { capabilities });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  asked.push(params.message);
  return { action: 'accept', content: { decision: 'allow once' } };
});
if (roots) client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
let changes = 0;
client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
  changes += 1;
});

const transport =
  way === 'stdio'
    ? new StdioClientTransport({ command: target, args: ['--structured-content'], env: process.env, stderr: 'inherit' })
    : new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
const progress = [];
let pid;
for (const { name, arguments: args } of calls) {
  const onprogress = (told) => progress.push({ name, ...told });
  if (args.pid === '$PID') args.pid = pid;
  const result = await client.callTool({ name, arguments: args }, undefined, { onprogress });
  results.push(result);
  pid = Number(/Background PIDs: (\d+)/.exec(result.content[0].text)?.[1] ?? pid);
}
const controller = new AbortController();
const given = client.callTool({ name: 'run_shell_command', arguments: { command: 'sleep 30.5' } }, undefined, { signal: controller.signal });
setTimeout(() => controller.abort('enough'), 500);
const cancelled = await given.then(
  () => false,
  () => true,
);
const found = { version: client.getServerVersion(), instructions: client.getInstructions(), tools, results, progress, cancelled, changes, asked };
await client.close();
process.stdout.write(JSON.stringify(found));
