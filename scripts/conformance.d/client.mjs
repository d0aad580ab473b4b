// Started by the suite with the address of a server: our client, as a user has it. The server is one of the settings,
// get_tools lists its tools, and call_tool calls those that the scenario is about.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [bin, url] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'conformance-client-'));
const env = { ...process.env, HOME: home };

function run(program, words, input = '') {
    const done = spawnSync(path.join(bin, program), words, { cwd: home, env, input, encoding: 'utf8' });
    process.stderr.write(done.stderr);
    return done.stdout;
}

function call(tool, args) {
    return run('call_tool', [`suite__${tool}`], JSON.stringify(args));
}

function declared() {
    const all = JSON.parse(run('get_tools', ['--mcp']));
    const tools = all.flatMap((tool) => tool.functionDeclarations ?? tool);
    return tools.filter(({ name }) => name.startsWith('suite__'));
}

/** Calls each tool that the server lists, with a value for each parameter. */
function callAll() {
    const values = { string: 'text', number: 1, integer: 1, boolean: true };
    for (const { name, parametersJsonSchema } of declared()) {
        const properties = Object.entries(parametersJsonSchema?.properties ?? {});
        const args = properties.map(([key, { type }]) => [key, values[type]]);
        run('call_tool', [name], JSON.stringify(Object.fromEntries(args)));
    }
}

fs.mkdirSync(path.join(home, '.gemini'));
const servers = { suite: { httpUrl: url, trust: true } };
fs.writeFileSync(path.join(home, '.gemini/settings.json'), JSON.stringify({ mcpServers: servers }));
try {
    switch (scenario) {
        case 'tools_call':
            call('add_numbers', { a: 5, b: 3 });
            break;
        case 'http-custom-headers':
            for (const { name, arguments: args } of context.toolCalls ?? []) {
                call(name, args);
            }
            break;
        case 'json-schema-2020-12-preservation': {
            const { parametersJsonSchema } = declared().find((tool) => /2020/.test(tool.name));
            call('json_schema_echo', { schema: parametersJsonSchema });
            break;
        }
        default:
            callAll();
    }
} finally {
    fs.rmSync(home, { recursive: true, force: true });
}
