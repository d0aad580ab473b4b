// Owns the command line of scripts/stand-in: options, the line that says where it listens, and when it ends. Leaves the
// serving to gemini_api.mjs.

import fs from 'node:fs';
import { parseArgs } from 'node:util';

import { startGeminiApi } from './gemini_api.mjs';

const USAGE = `Usage: scripts/stand-in [--script FILE.json] [--port N] [--no-bodies]

Serves a stand-in of the Gemini API on the loopback interface, for API keys,
Vertex AI and Code Assist. Prints one line, {"url":"http://127.0.0.1:PORT"}, and
ends when its standard input closes or at SIGTERM.

  --script FILE  what to play; otherwise every turn is answered with "Done."
  --port N       the port (default: a free one)
  --no-bodies    keeps no bodies of requests, for very long sessions

  PUT /_script    replaces the script and forgets the records
  GET /_requests  gives all recorded requests

A script is a JSON object; every key may be missing:

  turns    [[{"id": "a", "tool": "read_file", "args": {…}}], …]: calls, turn by
           turn, chosen by how many turns with calls the history has
  closing  the text behind the last turn
  answers  a list of entries, each used once, in order, for requests of the
           conversation, before turns are looked at
  search   an entry, or a list, for requests with googleSearch
  fetch    an entry, or a list, for requests with urlContext
  faults   a list of entries with a fault, for any request, before all others

An entry answers with one of "text", "parts", "calls", "chunks" (whole response
documents), or "status", "body" and "headers"; or it has a "fault". With it:

  "times": 2 or "always"   how often (1 otherwise)
  "match": {…}             which requests: "kind" (turn, side, search, fetch,
                           count, models, service), "transport" (api-key, vertex,
                           code-assist), "method", "model", "path", "contains";
                           {} fits every request

Faults: 429 500 503 html redirect cut half silence no-headers hang-up wrong-json
error-in-stream slow sse huge empty blocked SAFETY MALFORMED_FUNCTION_CALL
MAX_TOKENS RECITATION. Their options stand in scripts/e2e.d/STAND_IN.md.
`;

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        script: { type: 'string' },
        port: { type: 'string', default: '0' },
        'no-bodies': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
    if (!/^\d+$/.test(values.port) || Number(values.port) > 65535) throw new Error(`--port: '${values.port}' is no port`);
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  return values;
}

const options = readOptions();
let api;
try {
  const script = options.script === undefined ? {} : JSON.parse(fs.readFileSync(options.script, 'utf8'));
  api = await startGeminiApi(script, { port: Number(options.port), controls: true, bodies: !options['no-bodies'] });
} catch (error) {
  process.stderr.write(`scripts/stand-in: ${error.message}\n`);
  process.exit(1);
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.exit(0));
// Whoever has started it may end without a word; its end of the pipe closes all the same.
process.stdin.on('end', () => process.exit(0)).on('error', () => process.exit(0));
process.stdin.resume();
process.stdout.write(`${JSON.stringify({ url: api.url })}\n`);
