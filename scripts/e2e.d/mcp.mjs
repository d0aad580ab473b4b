// Owns the scripts about the tools of an MCP server that both we and the host know, and the claims about whose copy the
// model has called and what came of it.

import assert from 'node:assert/strict';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { ending, run } from './child.mjs';
import { failureOf, outputOf, rawAnswer } from './answers.mjs';
import { answersTo, conversation, declarationsOf, declaredName, DISCOVERED } from './records.mjs';

const SERVER = 'everything';
const INSTALL_LIMIT_MS = 15 * 60_000;

const TEXT = 'two words; $(touch made) "quoted" \\ é 👍\nsecond line';
const RESOURCE = 'demo://resource/dynamic/text/1';

const RESOURCE_TOOLS = ['list_mcp_resources', 'read_mcp_resource'];

/** Those of the server that are called here; it has more. */
const TOOLS = ['echo', 'get-sum', 'get-tiny-image', 'get-resource-reference'].map((tool) => `${SERVER}__${tool}`);
const OURS = [...TOOLS, ...RESOURCE_TOOLS];

/** Gives the program of the server, which is installed from npm where the cache does not have it. */
export async function installServer() {
  const script = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', 'mcp-servers');
  const result = await run(script, [], { cwd: path.dirname(script), env: process.env, limitMs: INSTALL_LIMIT_MS });
  if (result.status !== 0) throw new Error(`${script} ${ending(result)}\n${result.stderr}`);
  return path.join(result.stdout.trim(), 'server-everything', 'dist', 'index.js');
}

/** One entry in the project's settings, which the host reads as well as we do. */
function settingsWith(program) {
  return {
    allowed: OURS.map((tool) => DISCOVERED + tool),
    mcpServers: { [SERVER]: { command: process.execPath, args: [program, 'stdio'], trust: true } },
    variables: { GEMINI_TOOLS_MCP: '1' },
  };
}

/** Both versions know this way to keep the host from a server; no server has this name. */
const HOST_WITHOUT_SERVERS = ['--allowed-mcp-server-names', 'none'];

export async function checkMcp(report, play, program) {
  await checkOurs(report, play, program);
  await checkBoth(report, play, program);
}

function oursScript() {
  const call = (id, tool, args) => ({ id, tool, args });
  return {
    closing: 'The server was asked by us.',
    turns: [
      [
        call('echo', `${SERVER}__echo`, { message: TEXT }),
        call('sum', `${SERVER}__get-sum`, { a: 19, b: 23 }),
        call('image', `${SERVER}__get-tiny-image`, {}),
      ],
      [
        call('failing', `${SERVER}__get-resource-reference`, { resourceType: 'Text', resourceId: -1 }),
        call('wrong', `${SERVER}__get-sum`, { a: 'x', b: 1 }),
      ],
      [call('list', 'list_mcp_resources', {}), call('read', 'read_mcp_resource', { uri: RESOURCE })],
    ],
  };
}

async function checkOurs(report, play, program) {
  const script = oursScript();
  const { recorded, session } = await play({
    name: 'mcp',
    files: {},
    script: () => script,
    settings: settingsWith(program),
    args: HOST_WITHOUT_SERVERS,
  });
  await report.claim('the_host_calls_the_tools_of_an_mcp_server_by_us', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    assert.ok(session.stdout.includes(script.closing), 'the closing text was not printed');
  });
  const requests = conversation(recorded);
  if (requests.length === 0) return;
  const declared = declarationsOf(requests[0].body);
  await report.claim('the_model_sees_our_copy_of_the_server_and_no_other', () => {
    assert.deepEqual(OURS.filter((tool) => !declared.has(declaredName(declared, tool))), [], 'these are missing');
    assert.deepEqual([...declared.keys()].filter((name) => THEIR_NAMES.includes(name)), []);
    const echo = declared.get(declaredName(declared, TOOLS[0]));
    assert.deepEqual(echo.schema.required, ['message']);
    assert.equal(echo.schema.properties.message.type, 'string');
  });

  const answers = answersTo(script, recorded);
  await report.claim('a_call_of_a_server_gets_its_arguments_and_gives_its_result', () => {
    assert.equal(outputOf(answers, 'echo'), `Echo: ${TEXT}`);
    assert.match(outputOf(answers, 'sum'), /\b42\b/);
  });
  await report.claim('an_image_of_a_server_comes_with_its_text', () => {
    assert.match(outputOf(answers, 'image'), /image data with mime-type: image\/png/);
    const [part, ...others] = JSON.parse(rawAnswer(answers, 'image')).functionResponse.parts;
    assert.deepEqual(others, []);
    assert.equal(part.inlineData.mimeType, 'image/png');
    const bytes = Buffer.from(part.inlineData.data, 'base64');
    assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
  });
  await report.claim('what_a_server_refuses_is_said_to_the_model', () => {
    const failure = failureOf(answers, 'failing');
    assert.equal(failure.errorType, 'mcp_tool_error');
    assert.equal(failure.status, 1);
    assert.match(failure.error, /resourceId/);
    // The host checks arguments too, by the schema that it was given.
    assert.match(rawAnswer(answers, 'wrong'), /must be (a )?number/);
  });
  await report.claim('resources_of_a_server_are_listed_and_read', () => {
    assert.match(outputOf(answers, 'list'), /everything: demo:\/\/resource\/static\/document\//);
    assert.match(outputOf(answers, 'read'), /^Resource 1: This is a plaintext resource/);
  });
  await report.claim('no_server_outlives_its_call', () => assert.deepEqual(session.leftBehind, []));
}

/** What the host itself calls its copy of a tool: 0.8 by the bare name, 0.61 by the server's too. */
const THEIR_NAMES = ['echo', `mcp_${SERVER}_echo`];

/** Nothing keeps the host from the server here, so that it is there twice. The name that is not the host's is only refused. */
function bothScript() {
  const theirs = THEIR_NAMES.map((tool) => ({ id: tool, tool, args: { message: 'by the host' } }));
  return {
    closing: 'The server was asked by both.',
    turns: [[{ id: 'ours', tool: `${SERVER}__echo`, args: { message: 'by us' } }, ...theirs]],
  };
}

async function checkBoth(report, play, program) {
  const script = bothScript();
  const { recorded, session } = await play({ name: 'mcp_twice', files: {}, script: () => script, settings: settingsWith(program) });
  await report.claim('the_hosts_copy_of_a_server_stands_beside_ours_under_a_name_of_its_own', () => {
    assert.equal(session.status, 0, `the host ${ending(session)}`);
    const declared = declarationsOf(conversation(recorded)[0]?.body);
    assert.equal(declared.get(declaredName(declared, `${SERVER}__echo`))?.count, 1, 'ours');
    const theirs = THEIR_NAMES.filter((name) => declared.has(name));
    assert.equal(theirs.length, 1, `the host's: ${theirs}`);
    const answers = answersTo(script, recorded);
    assert.equal(outputOf(answers, 'ours'), 'Echo: by us');
    const theirAnswer = JSON.stringify(answers.get(theirs[0]).functionResponse.response);
    assert.match(theirAnswer, /Echo: by the host/);
    assert.doesNotMatch(theirAnswer, /functionResponse/, 'we have answered');
  });
}
