// An MCP server on standard streams that declares the tools in a file, and answers each call with its arguments.
// Usage: node server.mjs FILE

import fs from 'node:fs';
import readline from 'node:readline';

const tools = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));

function resultOf({ method, params }) {
  if (method === 'initialize') {
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'many', version: '1' } };
  }
  if (method === 'tools/list') return { tools };
  if (method === 'tools/call') return { content: [{ type: 'text', text: JSON.stringify(params) }] };
  return {};
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) }));
}
