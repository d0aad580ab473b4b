// Owns the command line, the order of things and the exit status of scripts/conformance.

import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { startBridge } from './bridge.mjs';

const USAGE = `Usage: scripts/conformance [--bin DIRECTORY] [--only client|http|stdio] [--keep]

Runs the MCP conformance suite against serve_tools, with tools of our own for
its fixtures, in protocol versions 2025-11-25 and 2026-07-28, with the
extensions for tasks and skills, over HTTP and over standard streams (through a
bridge); and against get_tools and call_tool as clients.
What is expected to fail is in scripts/conformance.d/expected-failures.yaml.

  --bin DIRECTORY  the executables (default: bin, which builds them)
  --only WHICH     only one of the three
  --keep           keep the directory with the suite's reports, and print it
`;

const VERSIONS = ['2025-11-25', '2026-07-28'];

/** How often a run is made at most that fails. */
const RUNS = 3;

const SKILL = `---
name: review
description: Reviews a change.
metadata:
  author: us
---

Read references/list.md, and look for each of them.
`;

// Scenarios for clients that have no extension: the others are about OAuth, which a host does, and about skills, which
// our client does not read.
const CLIENT_SCENARIOS = {
    '2025-11-25': ['initialize', 'tools_call', 'sse-retry', 'json-schema-2020-12-preservation'],
    '2026-07-28': [
        'tools_call',
        'request-metadata',
        'sep-2322-client-request-state',
        'http-standard-headers',
        'http-custom-headers',
        'http-invalid-tool-headers',
        'json-schema-ref-no-deref',
        'json-schema-2020-12-preservation',
    ],
};

const here = path.dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
    options: {
        installed: { type: 'string' },
        node: { type: 'string' },
        bin: { type: 'string' },
        only: { type: 'string' },
        keep: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
    },
});
if (options.help) {
    process.stdout.write(USAGE);
    process.exit(0);
}

const bin = path.resolve(options.bin ?? path.join(here, '../../bin'));
const suite = [
    path.join(options.installed, options.node, 'bin/node'),
    path.join(options.installed, '@modelcontextprotocol/conformance/dist/index.js'),
];
const EXPECTED = path.join(here, 'expected-failures.yaml');

/**
 * Runs the suite. Resolves to whether nothing has failed that is not expected to, and nothing passed that is.
 *
 * The suite gives some calls half a second (`server-stateless` in 0.2.0-alpha.12 ends a stream after 500 and 600 ms),
 * in which a busy machine does not even start the tool's program. Its limits can't be set, so a run that has failed is
 * made again, and each one that fails is shown. A fault of ours fails every time.
 */
async function runSuite(title, words, env) {
    for (let run = 1; run <= RUNS; run++) {
        const { status, printed } = await runOnce(words, env);
        const isGood = status === 0;
        console.log(`${isGood ? 'ok' : 'FAILED'}: ${title}${summary(printed)}${run > 1 ? `, run ${run}` : ''}`);
        if (isGood) {
            return true;
        }
        console.log(printed.slice(Math.max(0, printed.indexOf('=== SUMMARY ==='))));
    }
    return false;
}

async function runOnce(words, env) {
    const [node, script] = suite;
    const child = spawn(node, [script, ...words], { cwd: playground, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (piece) => {
            printed += piece;
        });
    }
    const [status] = await once(child, 'close');
    return { status, printed };
}

function summary(printed) {
    const totals = printed.match(/^(?:Total|Passed): .*$/gm);
    return totals ? ` (${totals.at(-1)})` : '';
}

/** Makes a home directory with the tools, and a project with a skill. */
function makePlayground() {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'conformance-'));
    const skill = path.join(directory, 'project/.agents/skills/review');
    fs.mkdirSync(path.join(skill, 'references'), { recursive: true });
    fs.writeFileSync(path.join(skill, 'SKILL.md'), SKILL);
    fs.writeFileSync(path.join(skill, 'references/list.md'), 'Names, errors, tests.\n');
    fs.cpSync(path.join(here, 'tools'), path.join(directory, 'home/.gemini/tools'), { recursive: true });
    return directory;
}

/** Starts serve_tools, and resolves to it and its port when it listens. */
async function startServer(env) {
    const words = ['--http', '127.0.0.1:0', '--root', '.'];
    const cwd = path.join(playground, 'project');
    const server = spawn(path.join(bin, 'serve_tools'), words, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
    const port = await new Promise((resolve, reject) => {
        let said = '';
        server.stderr.on('data', (piece) => {
            said += piece;
            const found = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(said);
            if (found) {
                resolve(Number(found[1]));
            }
        });
        server.on('exit', () => reject(new Error(`serve_tools has ended: ${said}`)));
        server.on('error', reject);
    });
    return { server, port };
}

/** Adds the token to all requests, since the suite can't. */
async function startProxy(port, token) {
    const proxy = http.createServer((request, response) => {
        const headers = { ...request.headers, authorization: `Bearer ${token}` };
        const { method, url } = request;
        const onward = http.request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
            response.writeHead(answer.statusCode, answer.headers);
            answer.pipe(response);
        });
        onward.on('error', () => response.destroy());
        response.on('close', () => onward.destroy());
        request.pipe(onward);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    return proxy;
}

/** The environment of a user who has nothing set up. */
function environment() {
    const { PATH, LANG } = process.env;
    return { PATH, LANG, HOME: path.join(playground, 'home') };
}

async function checkHttp() {
    const token = randomBytes(16).toString('hex');
    const env = { ...environment(), GEMINI_TOOLS_SERVE_TOKEN: token, GEMINI_CLI_TRUST_WORKSPACE: 'true' };
    const { server, port } = await startServer(env);
    const proxy = await startProxy(port, token);
    try {
        return await checkServer('http', proxy.address().port, EXPECTED);
    } finally {
        proxy.close();
        proxy.closeAllConnections();
        server.removeAllListeners('exit');
        server.kill();
    }
}

async function checkStdio() {
    const env = { ...environment(), GEMINI_CLI_TRUST_WORKSPACE: 'true' };
    const options = { cwd: path.join(playground, 'project'), env, stdio: ['pipe', 'pipe', 'inherit'] };
    const bridge = await startBridge(() => spawn(path.join(bin, 'serve_tools'), ['--root', '.'], options));
    // What a key of its own says besides is expected here alone.
    const expected = path.join(playground, 'expected-failures.yaml');
    fs.writeFileSync(expected, fs.readFileSync(EXPECTED, 'utf8').replace('\nstdio:\n', '\n'));
    try {
        return await checkServer('stdio', bridge.port, expected);
    } finally {
        bridge.stop();
    }
}

async function checkServer(transport, port, expected) {
    const words = ['server', '--url', `http://127.0.0.1:${port}/mcp`, '--expected-failures', expected];
    const ofVersions = VERSIONS.map((version) => [version, ['--suite', 'all', '--spec-version', version]]);
    const ofExtensions = extensionScenarios().map((scenario) => [scenario, ['--scenario', scenario]]);
    let isGood = true;
    for (const [what, which] of [...ofVersions, ...ofExtensions]) {
        isGood = (await runSuite(`${transport}, ${what}`, [...words, ...which], environment())) && isGood;
    }
    return isGood;
}

/** The suite has no word for all extensions, so their scenarios are run by name. */
function extensionScenarios() {
    const [node, script] = suite;
    const { stdout } = spawnSync(node, [script, 'list'], { encoding: 'utf8' });
    const [ofServers] = stdout.split('Client scenarios');
    return [...ofServers.matchAll(/^ *- (\S+) \[extension\]$/gm)].map(([, name]) => name);
}

async function checkClient() {
    const driver = `${process.execPath} ${path.join(here, 'client.mjs')} ${bin}`;
    let isGood = true;
    for (const [version, scenarios] of Object.entries(CLIENT_SCENARIOS)) {
        for (const scenario of scenarios) {
            const words = ['client', '--command', driver, '--scenario', scenario];
            words.push('--spec-version', version, '--expected-failures', EXPECTED);
            isGood = (await runSuite(`client, ${version}, ${scenario}`, words, environment())) && isGood;
        }
    }
    return isGood;
}

const playground = makePlayground();
let isGood = true;
try {
    for (const [part, check] of Object.entries({ http: checkHttp, stdio: checkStdio, client: checkClient })) {
        if (!options.only || options.only === part) {
            isGood = (await check()) && isGood;
        }
    }
} finally {
    if (options.keep) {
        console.log(`The reports are in ${playground}.`);
    } else {
        fs.rmSync(playground, { recursive: true, force: true });
    }
}
process.exit(isGood ? 0 : 1);
