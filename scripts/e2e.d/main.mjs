// Owns the command line, the order of things and the exit status of scripts/e2e.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { checkApprovals, checkHandOver } from './approval.mjs';
import { ending, inOwnDirectory, run } from './child.mjs';
import { declarationsOf } from './records.mjs';
import { install, knowsPolicies } from './host.mjs';
import { makePlayground } from './playground.mjs';
import { Report } from './report.mjs';
import { sessionPlayer } from './session.mjs';

import { checkCustom, CUSTOM_FILES, CUSTOM_SETTINGS, customScript } from './custom.mjs';
import { checkHostForm } from './host_form.mjs';
import { checkInit } from './init.mjs';
import { checkMcp, installServer } from './mcp.mjs';
import { checkServed, SERVED_FILES, servedScript, servedSettings } from './served.mjs';
import { checkRestrictions } from './restrictions.mjs';
import { checkNetwork, NETWORK_FILES, NETWORK_TOOLS, networkScript } from './network.mjs';
import { checkSevenTools, FILES, SEVEN_TOOLS, sevenToolsScript } from './seven_tools.mjs';
import { checkShell, SHELL_TOOLS, shellScript } from './shell.mjs';

const USAGE = `Usage: scripts/e2e [--cli VERSION]... [--get-tools PATH] [--call-tool PATH]
                   [--serve-tools PATH] [--served] [--keep]

Drives get_tools, call_tool and serve_tools with the real Gemini CLI, headless, against a
loopback stand-in of the Gemini API, and checks what the model gets to see and
what happens on disk.

  --cli VERSION     a version of @google/gemini-cli, from npm or the cache
                    (default: 0.8.2 and 0.61.0)
  --get-tools PATH  the discovery command (default: bin/get_tools)
  --call-tool PATH  the call command (default: bin/call_tool)
  --serve-tools PATH
                    the MCP server (default: bin/serve_tools)
  --served          only what serve_tools serves
  --keep            leave the directories of the runs, with all requests

The versions are kept in \${GEMINI_TOOLS_CACHE:-\${XDG_CACHE_HOME:-~/.cache}/gemini-tools}.
`;

const DEFAULT_VERSIONS = ['0.8.2', '0.61.0'];

// A launcher builds at its first use.
const FIRST_USE_LIMIT_MS = 30 * 60_000;

const report = new Report();
let base;

/** The versions of the host are played at the same time: each is mostly one thread. */
async function main(options) {
  const ours = await tryCommands(options);
  if (ours) {
    const reports = await Promise.all(options.versions.map((version) => reportOn(version, options, ours)));
    for (const { passed, failed } of reports) {
      report.passed += passed;
      report.failed += failed;
    }
  }
  report.about('');
  report.summary();
}

async function reportOn(version, options, ours) {
  const own = new Report();
  own.about(`${version}:`);
  try {
    await checkVersion(own, version, options, ours);
  } catch (error) {
    await own.claim('the_run_comes_to_its_end', () => Promise.reject(error));
  }
  return own;
}

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        cli: { type: 'string', multiple: true },
        'get-tools': { type: 'string' },
        'call-tool': { type: 'string' },
        'serve-tools': { type: 'string' },
        served: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  const checkout = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
  return {
    versions: values.cli ?? DEFAULT_VERSIONS,
    getTools: path.resolve(values['get-tools'] ?? path.join(checkout, 'bin', 'get_tools')),
    callTool: path.resolve(values['call-tool'] ?? path.join(checkout, 'bin', 'call_tool')),
    serveTools: path.resolve(values['serve-tools'] ?? path.join(checkout, 'bin', 'serve_tools')),
    servedOnly: values.served,
    keep: values.keep,
  };
}

/**
 * Calls both commands once without a host, in the caller's own environment: a launcher may have to build first, which it
 * could not do in the clean one. Returns the declarations that `get_tools` prints, or nothing where they don't work.
 */
async function tryCommands({ getTools, callTool }) {
  report.about('without a host:');
  const directory = path.join(base, 'first use');
  fs.mkdirSync(directory);
  const place = { cwd: directory, env: process.env, limitMs: FIRST_USE_LIMIT_MS };

  let ours;
  const declares = await report.claim('get_tools_declares_all_tools', async () => {
    const result = await run(getTools, [], place);
    assert.equal(result.status, 0, `${getTools} ${ending(result)}: ${result.stderr}`);
    assert.equal(result.stderr, '', 'something was written to stderr');
    ours = declarationsOf({ tools: [{ functionDeclarations: JSON.parse(result.stdout) }] });
    assert.deepEqual(Object.keys({ ...SEVEN_TOOLS, ...SHELL_TOOLS, ...NETWORK_TOOLS }).filter((tool) => !ours.has(tool)), [], 'these are missing');
  });
  const calls = await report.claim('call_tool_answers', async () => {
    const result = await run(callTool, ['list_directory'], { ...place, input: JSON.stringify({ path: '.' }) });
    assert.equal(result.status, 0, `${callTool} ${ending(result)}: ${result.stdout}${result.stderr}`);
    assert.equal(result.stderr, '', 'something was written to stderr');
  });
  // serve_tools, which reaches MCP servers, comes with it.
  const reaches = await report.claim('call_tool_refuses_an_address_inside', async () => {
    const result = await run(callTool, ['web_fetch'], { ...place, input: JSON.stringify({ prompt: 'Read http://127.0.0.1:1/.' }) });
    assert.equal(result.status, 3, `${callTool} ${ending(result)}: ${result.stdout}${result.stderr}`);
    assert.equal(result.stderr, '', 'something was written to stderr');
  });
  return declares && calls && reaches ? ours : undefined;
}

async function checkVersion(report, version, { getTools, callTool, serveTools, servedOnly }, ours) {
  let host;
  const installed = await report.claim('gemini_cli_is_installed', async () => {
    host = await install(version);
  });
  if (!installed) return;
  if (host.fresh) report.info('installed from npm into the cache');

  const hasPolicies = await knowsPolicies(host, await helpPlace(host, getTools, callTool));
  const play = sessionPlayer(report, { base, host, hasPolicies, commands: { getTools, callTool } });

  if (!servedOnly) await checkCommands(report, play, { getTools, callTool, hasPolicies }, ours);
  if (!hasPolicies) return;
  // Before it had policies, the host had other names for tools of servers.
  const served = await play({ name: 'served', files: SERVED_FILES, script: servedScript, settings: servedSettings(serveTools) });
  await checkServed(report, { ...served, script: servedScript(served.playground.workspace), ours });
}

/** What the host does with the two commands. */
async function checkCommands(report, play, { getTools, callTool, hasPolicies }, ours) {
  const played = await play({ name: 'seven_tools', files: FILES, script: sevenToolsScript, approved: true });
  await checkSevenTools(report, { ...played, script: sevenToolsScript(played.playground.workspace), ours });
  await checkHostForm(report, play);
  await checkRestrictions(report, play);
  const shell = shellScript();
  const commands = await play({ name: 'commands', files: {}, script: () => shell, approved: true });
  await checkShell(report, { ...commands, script: shell, ours });
  const lookedUp = await play({ name: 'network', files: NETWORK_FILES, script: networkScript, approved: true });
  await checkNetwork(report, { ...lookedUp, script: networkScript(lookedUp.playground.workspace), ours });
  const own = customScript();
  const custom = await play({ name: 'own_tools', files: CUSTOM_FILES, script: () => own, settings: CUSTOM_SETTINGS });
  await checkCustom(report, { ...custom, script: own });
  let server;
  const hasServer = await report.claim('an_mcp_server_is_installed', async () => {
    server = await installServer();
  });
  if (hasServer) await checkMcp(report, play, server);
  await checkHandOver(report, play, callTool);
  await checkInit(report, play, { getTools, hasPolicies });
  if (hasPolicies) await checkApprovals(report, play);
}

function helpPlace(host, getTools, callTool) {
  const root = path.join(base, host.version, 'help');
  fs.mkdirSync(root, { recursive: true });
  return makePlayground(root, { files: {}, getTools, callTool });
}

const options = readOptions();
await inOwnDirectory('gemini-tools-e2e-', options.keep, (directory) => {
  base = directory;
  return main(options);
});
process.exitCode = report.failed > 0 ? 1 : 0;
