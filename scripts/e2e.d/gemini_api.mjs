// Owns a stand-in of the Gemini API on loopback: plays a script of model turns, answers the host's side questions
// sensibly, and records every request. Does not judge anything.

import http from 'node:http';

/** What Gemini CLI 0.61 puts before the name of a discovered tool. */
export const DISCOVERED = 'discovered_tool_';

/**
 * A script is `{turns, closing}`: `turns` is a list of lists of calls `{id, tool, args, hostArgs?}`, each inner list one
 * model turn, and `closing` the text of the last turn. `args` may be a function of all functionResponses so far. `tool` is the name that our declarations have; the model calls it
 * by the name that the host declares. `hostArgs` are sent only where the declared schema has them.
 */
export async function startGeminiApi(script) {
  const recorded = [];
  const server = http.createServer((request, response) => {
    serve(request, response).catch((error) => sendError(response, 500, String(error)));
  });

  async function serve(request, response) {
    const bytes = [];
    for await (const chunk of request) bytes.push(chunk);
    const text = Buffer.concat(bytes).toString('utf8');
    const url = new URL(request.url, 'http://loopback');
    const [, model = '', method = ''] = /\/models\/([^/:]+):(\w+)$/.exec(url.pathname) ?? [];
    const body = text === '' ? null : JSON.parse(text);
    const entry = { at: performance.now(), answeredAt: null, verb: request.method, path: url.pathname, kind: 'unknown', body };
    recorded.push(entry);

    if (method === 'countTokens') {
      entry.kind = 'count';
      sendJson(response, { totalTokens: Math.ceil(text.length / 4) });
    } else if (method === 'generateContent' || method === 'streamGenerateContent') {
      const { kind, parts } = answerTo(body, script);
      entry.kind = kind;
      if (method === 'streamGenerateContent') sendStream(response, parts, model);
      else sendJson(response, chunkOf(parts, model, 'STOP'));
    } else if (request.method === 'GET' && /\/models$/.test(url.pathname)) {
      entry.kind = 'models';
      sendJson(response, { models: [] });
    } else {
      sendError(response, 404, `nothing is played for ${request.method} ${url.pathname}`);
    }
    entry.answeredAt = performance.now();
  }

  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    recorded,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The requests of the conversation itself, in order, without side questions. */
export function conversation(recorded) {
  return recorded.filter((entry) => entry.kind === 'turn');
}

/** What the model was told about its tools, by name. */
export function declarationsOf(body) {
  const declared = new Map();
  for (const tool of body?.tools ?? []) {
    for (const declaration of tool.functionDeclarations ?? []) {
      const known = declared.get(declaration.name) ?? { count: 0 };
      declared.set(declaration.name, {
        count: known.count + 1,
        description: declaration.description ?? '',
        schema: declaration.parametersJsonSchema ?? declaration.parameters ?? {},
      });
    }
  }
  return declared;
}

/** The name under which a tool of ours is declared: Gemini CLI 0.8 keeps it, 0.61 puts a prefix before it. */
export function declaredName(declared, tool) {
  return declared.has(DISCOVERED + tool) ? DISCOVERED + tool : tool;
}

/**
 * By call id: the call and the functionResponse that the host sent for it, as it stood in the first request that held
 * it; later requests may carry a shortened history.
 */
export function answersTo(script, recorded) {
  const answers = new Map();
  for (const request of conversation(recorded)) {
    let turn = -1;
    for (const content of request.body.contents ?? []) {
      if (callsIn(content).length > 0) turn += 1;
      // Paired by position, for 0.61 does not send back the ids that the model gave.
      responsesIn(content).forEach((functionResponse, position) => {
        const call = script.turns[turn]?.[position];
        if (call && !answers.has(call.id)) answers.set(call.id, { call, functionResponse });
      });
    }
  }
  return answers;
}

/** How long the host took from receiving each turn's calls to coming back with all answers. */
export function turnTimes(script, recorded) {
  const requests = conversation(recorded);
  return script.turns.flatMap((calls, turn) => {
    const [asked, answered] = [requests[turn], requests[turn + 1]];
    return asked && answered ? [{ tools: calls.map((call) => call.tool), ms: answered.at - asked.answeredAt }] : [];
  });
}

/** The host's answers to calls that stand in one message of the history. */
export function responsesIn(content) {
  return (content.parts ?? []).flatMap((part) => part.functionResponse ?? []);
}

function callsIn(content) {
  if (content.role !== 'model') return [];
  return (content.parts ?? []).flatMap((part) => part.functionCall ?? []);
}

function answerTo(body, script) {
  const wanted = wantedJson(body?.generationConfig);
  // Routing, next-speaker and loop checks ask for JSON of a given schema; the conversation never does.
  if (wanted) return { kind: 'side', parts: [{ text: JSON.stringify(sampleOf(wanted)) }] };
  const declared = declarationsOf(body);
  if (declared.size === 0) return { kind: 'side', parts: [{ text: 'Nothing to add.' }] };
  // The turn follows from the history, not from a counter, so that a request which the host repeats gets the same answer.
  const turn = (body.contents ?? []).filter((content) => callsIn(content).length > 0).length;
  const calls = script.turns[turn];
  if (!calls) return { kind: 'turn', parts: [{ text: script.closing }] };
  const responses = (body.contents ?? []).flatMap(responsesIn);
  const callParts = calls.map((call, position) => callPart(call, position, turn, declared, responses));
  return { kind: 'turn', parts: [{ text: `Turn ${turn + 1}.` }, ...callParts] };
}

function callPart({ id, tool, args, hostArgs = {} }, position, turn, declared, responses) {
  const name = declaredName(declared, tool);
  const properties = declared.get(name)?.schema.properties ?? {};
  const extra = Object.fromEntries(Object.entries(hostArgs).filter(([key]) => key in properties));
  const own = typeof args === 'function' ? args(responses) : args;
  const part = { functionCall: { id, name, args: { ...own, ...extra } } };
  // Models since Gemini 3 sign a turn's first call.
  if (position === 0) part.thoughtSignature = Buffer.from(`signature of turn ${turn}`).toString('base64');
  return part;
}

function wantedJson(config) {
  const schema = config?.responseJsonSchema ?? config?.responseSchema;
  if (schema) return schema;
  return config?.responseMimeType === 'application/json' ? { type: 'object' } : null;
}

/** Some value that fits a JSON schema. Where a side question asks who speaks next, it is the user, so that a run ends. */
function sampleOf(schema) {
  if (schema.enum) return schema.enum.includes('user') ? 'user' : schema.enum[0];
  if (schema.anyOf) return sampleOf(schema.anyOf[0]);
  switch (String(schema.type).toLowerCase()) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([key, value]) => [key, sampleOf(value)]));
    case 'array':
      return [];
    case 'number':
    case 'integer':
      return schema.minimum ?? 1; // a classifier's scores begin at 1, and its schema doesn't say so
    case 'boolean':
      return false;
    default:
      return 'nothing';
  }
}

function chunkOf(parts, model, finishReason) {
  const candidate = { index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) };
  return {
    candidates: [candidate],
    usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 10, totalTokenCount: 1010 },
    modelVersion: model,
    responseId: 'played',
  };
}

function sendStream(response, parts, model) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  parts.forEach((part, index) => {
    const finishReason = index === parts.length - 1 ? 'STOP' : undefined;
    response.write(`data: ${JSON.stringify(chunkOf([part], model, finishReason))}\r\n\r\n`);
  });
  response.end();
}

function sendJson(response, value, status = 200) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function sendError(response, code, message) {
  sendJson(response, { error: { code, message, status: code === 404 ? 'NOT_FOUND' : 'INTERNAL' } }, code);
}
