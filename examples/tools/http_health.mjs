#!/usr/bin/env node
// /// tool
// description = "Asks web addresses once each and tells for every one whether it is healthy: status, time, and, where wanted, whether the answer holds a text. Use it to see whether a service is up."
// display_name = "HTTP health"
// kind = "fetch"
// timeout = 60
// output = "tool_result"
//
// [params.urls]
// type = "array"
// items = { type = "string", pattern = "^https?://" }
// min_items = 1
// max_items = 20
// required = true
// description = "The addresses to ask, http or https."
//
// [params.expect]
// type = "string"
// description = "A text that every answer must hold."
//
// [params.timeout_ms]
// type = "integer"
// default = 5000
// minimum = 100
// maximum = 30000
// description = "How long an answer may take, in milliseconds."
// ///

import { readFileSync } from 'node:fs';

const MAX_BYTES = 1024 * 1024;
const args = JSON.parse(readFileSync(0, 'utf8'));

/** The beginning of a body: no more of it is needed to see whether a service lives. */
async function beginningOf(response) {
  const chunks = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function check(url) {
  const started = performance.now();
  const took = () => Math.round(performance.now() - started);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(args.timeout_ms), redirect: 'follow' });
    const body = args.expect === undefined ? '' : await beginningOf(response);
    const holds = args.expect === undefined || body.includes(args.expect);
    return { url, healthy: response.ok && holds, status: response.status, ms: took(), holds };
  } catch (error) {
    const reason = error.cause?.code ?? error.cause?.message ?? error.message;
    return { url, healthy: false, reason, ms: took() };
  }
}

const results = await Promise.all(args.urls.map(check));
const lines = results.map((r) => {
  const what = r.reason ?? `status ${r.status}${r.holds ? '' : ', without the expected text'}`;
  return `${r.healthy ? 'healthy' : 'UNHEALTHY'} ${r.url} (${what})`;
});
console.log(JSON.stringify({ llmContent: lines.join('\n'), data: { results } }));
process.exit(0);
