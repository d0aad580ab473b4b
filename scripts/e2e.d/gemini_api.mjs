// Owns a stand-in of the Gemini API on loopback, for all three ways in: receives and records every request, and has it
// answered as the script says. Leaves the choice of the answer to player.mjs and its sending to wire.mjs; judges nothing.

import http from 'node:http';

import { apiError } from './errors.mjs';
import { disturbed } from './faults.mjs';
import { metadataAnswer } from './metadata_server.mjs';
import { kindOf, Player } from './player.mjs';
import { requestIn } from './records.mjs';
import { refusalOf, routeOf } from './transports.mjs';
import { send } from './wire.mjs';

/**
 * A script is `{turns, closing, answers, faults, search, fetch}`, all of them optional; STAND_IN.md says what each holds.
 * `turns` is a list of lists of calls `{id, tool, args, hostArgs?}`, each inner list one model turn, and `closing` the text
 * of the last turn. `args` may be a function of all functionResponses so far. `tool` is the name that our declarations
 * have; the model calls it by the name that the host declares. `hostArgs` are sent only where the declared schema has them.
 *
 * Where `controls` is set, scripts can be replaced and records read over HTTP. Without `bodies` the records do not keep
 * what was asked: the bodies of a long session, each with the whole history, would fill the memory.
 */
export async function startGeminiApi(script, { port = 0, controls = false, bodies = true } = {}) {
  const recorded = [];
  let player = new Player(script);
  let connections = 0;
  const server = http.createServer((request, response) => {
    serve(request, response).catch((error) => fail(response, error));
  });
  server.on('connection', (socket) => {
    socket.number = ++connections;
  });

  /** Replaces the script and forgets what was recorded; throws where the script is none. */
  function play(next) {
    player = new Player(next);
    recorded.length = 0;
  }

  async function serve(request, response) {
    const at = performance.now();
    const bytes = [];
    for await (const chunk of request) bytes.push(chunk);
    const receivedAt = performance.now();
    const text = Buffer.concat(bytes).toString('utf8');
    const url = new URL(request.url, 'http://loopback');
    if (controls && url.pathname.startsWith('/_')) {
      await control(request.method, url.pathname, text, response);
      return;
    }

    const route = { ...routeOf(url.pathname), alt: url.searchParams.get('alt') };
    const { body, isJson } = parsed(text);
    const about = { ...route, verb: request.method, path: request.url, text, origin: origin() };
    about.request = requestIn(route.transport, body);
    about.model ??= body?.model; // Code Assist names it in the body
    about.kind = kindOf(about);
    const entry = entryOf(request, about, { at, receivedAt, body: bodies ? body : null });
    recorded.push(entry);
    response.once('close', () => {
      entry.closedEarly = !response.writableFinished;
    });

    const reply = replyTo(about, { url, headers: request.headers, isJson });
    const hasHead = !['nothing', 'hang-up'].includes(reply.ending?.how);
    Object.assign(entry, { status: hasHead ? (reply.status ?? 200) : null, fault: reply.fault ?? null });
    await send(response, reply, route);
    entry.answeredAt = performance.now();
  }

  function replyTo(about, { url, headers, isJson }) {
    const nothing = apiError(404, `Nothing is played for ${about.verb} ${url.pathname}.`);
    const metadata = metadataAnswer(url.pathname);
    if (metadata) return metadata;
    if (!about.transport) return nothing;
    const refusal = refusalOf(about, headers, url.searchParams);
    if (refusal) return refusal;
    if (!isJson) return apiError(400, 'Invalid JSON payload received. Unexpected token.');
    const { fault, content } = player.answerTo(about);
    return fault ? disturbed(fault, content, about) : (content ?? nothing);
  }

  async function control(verb, path, text, response) {
    const { body, isJson } = parsed(text);
    if (verb === 'GET' && path === '/_requests') return send(response, { body: recorded }, {});
    if (verb !== 'PUT' || path !== '/_script') {
      return send(response, apiError(404, 'There are PUT /_script and GET /_requests.'), {});
    }
    try {
      if (!isJson) throw new Error('not JSON');
      play(body);
    } catch (error) {
      return send(response, apiError(400, error.message), {});
    }
    return send(response, { body: {} }, {});
  }

  function origin() {
    return `http://127.0.0.1:${server.address().port}`;
  }

  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: origin(),
    recorded,
    play,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What is kept of a request; `status`, `fault`, `answeredAt` and `closedEarly` say how it was answered. */
function entryOf(request, { transport = null, method = null, model = null, kind, verb, path, text }, { at, receivedAt, body = text }) {
  const answered = { answeredAt: null, closedEarly: null, status: null, fault: null };
  const connection = request.socket.number;
  return { at, receivedAt, ...answered, connection, verb, path, transport, method, model, kind, headers: request.headers, body };
}

function parsed(text) {
  if (text === '') return { body: null, isJson: true };
  try {
    return { body: JSON.parse(text), isJson: true };
  } catch {
    return { isJson: false };
  }
}

/** A script can be wrong in a way that shows only when it is played. */
function fail(response, error) {
  if (response.headersSent) response.destroy();
  else send(response, apiError(500, String(error)), {}).catch(() => response.destroy());
}
