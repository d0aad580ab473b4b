// Streamable HTTP in front of servers on standard streams, because the suite speaks nothing else.
//
// Messages are passed on as they came, in both directions, and the bridge answers none itself: what the suite finds in
// messages is of the server, what it finds in HTTP is of the bridge. In versions with sessions each is a process; in
// the version without them all messages go to one.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import readline from 'node:readline';
import { text } from 'node:stream/consumers';

const SESSION = 'mcp-session-id';
const META = 'io.modelcontextprotocol/';
const METHOD_NOT_FOUND = -32601;

/** A server's process, and the HTTP responses that its messages are for. */
class Server {
    /** By the id of each request that is not answered: its token for progress, and the response. */
    #asked = new Map();

    constructor(child, session) {
        this.child = child;
        this.session = session;
        child.stdin.on('error', () => {});
        child.on('close', () => this.#asked.forEach(({ response }) => response.destroy()));
        readline.createInterface({ input: child.stdout }).on('line', (line) => this.#pass(line));
    }

    send(line) {
        this.child.stdin.write(`${line}\n`);
    }

    ask(line, { id, params }, response) {
        this.#asked.set(id, { progressToken: params?._meta?.progressToken, response });
        response.on('close', () => {
            // Without a session, a client gives a request up by closing the stream.
            if (this.#asked.delete(id) && !this.session) {
                const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } };
                this.send(JSON.stringify(cancelled));
            }
        });
        this.send(line);
    }

    /** Begins the stream for messages that are about no request. */
    listen(response) {
        this.listener = begun(response);
    }

    #pass(line) {
        const { id, method, params, error } = JSON.parse(line);
        if (method) {
            const response = this.#responseFor(params);
            if (response) begun(response).write(`data: ${line}\n\n`);
            return;
        }
        const response = this.#asked.get(id)?.response;
        this.#asked.delete(id);
        if (response?.headersSent) {
            response.end(`data: ${line}\n\n`);
        } else {
            const failed = error?.code === METHOD_NOT_FOUND ? 404 : 400;
            const status = error && !this.session ? failed : 200;
            response?.writeHead(status, { 'content-type': 'application/json' }).end(line);
        }
    }

    /** Not every message says what it is about; then it is the last request, since the suite makes one at a time. */
    #responseFor({ _meta, progressToken } = {}) {
        const subscription = _meta?.[`${META}subscriptionId`];
        if (subscription !== undefined) return this.#asked.get(subscription)?.response;
        const asked = [...this.#asked.values()];
        if (progressToken === undefined) return asked.at(-1)?.response ?? this.listener;
        return asked.find((request) => request.progressToken === progressToken)?.response;
    }
}

function begun(response) {
    if (!response.headersSent) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
    }
    return response;
}

/** Listens on a port of this machine. `start` makes the process of a server. */
export async function startBridge(start) {
    const servers = new Map();

    function serverOf(session) {
        if (!servers.has(session)) servers.set(session, new Server(start(), session));
        return servers.get(session);
    }

    async function attend(request, response) {
        const line = await text(request);
        const message = request.method === 'POST' ? JSON.parse(line) : {};
        // The version without sessions has no initialize; the suite asks for it all the same.
        const begins = message.method === 'initialize' && !message.params._meta?.[`${META}protocolVersion`];
        const session = begins ? randomUUID() : request.headers[SESSION];
        if (session && !begins && !servers.has(session)) return response.writeHead(404).end();
        const server = serverOf(session);
        if (session) response.setHeader(SESSION, session);
        if (request.method === 'GET' && session) return server.listen(response);
        if (request.method === 'DELETE' && session) {
            servers.delete(session);
            server.child.stdin.end();
            return response.writeHead(204).end();
        }
        if (request.method !== 'POST') return response.writeHead(405).end();
        if (message.method && message.id !== undefined) return server.ask(line, message, response);
        server.send(line);
        return response.writeHead(202).end();
    }

    const listener = http.createServer(attend);
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    function stop() {
        listener.close();
        listener.closeAllConnections();
        servers.forEach(({ child }) => child.kill());
    }
    return { port: listener.address().port, stop };
}
