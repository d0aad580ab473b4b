#!/usr/bin/env node
// /// tool
// description = "Asks HTTP addresses and says of each whether it is healthy: the status, how long it took, and why not."
// kind = "fetch"
// output = "json"
// timeout = 120
//
// [params.urls]
// type = "array"
// required = true
// min_items = 1
// max_items = 20
// items = { type = "string", pattern = "^https?://" }
// description = "The addresses."
//
// [params.expect_status]
// type = "integer"
// description = "The status that a healthy one answers with. Default: 200."
// minimum = 100
// maximum = 599
// default = 200
//
// [params.expect_text]
// description = "A text that the answer must hold."
//
// [params.timeout_ms]
// type = "integer"
// minimum = 1
// maximum = 60000
// default = 5000
// description = "How long each may take, in milliseconds. Default: 5000."
// ///

import { readFileSync } from "node:fs";

const args = JSON.parse(readFileSync(0, "utf8"));

async function look(url) {
  const started = performance.now();
  const done = (healthy, more) => ({
    url,
    healthy,
    ms: Math.round(performance.now() - started),
    ...more,
  });
  try {
    const response = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(args.timeout_ms),
    });
    const text = await response.text();
    const { status } = response;
    if (status !== args.expect_status) {
      return done(false, { status, why: `status ${status} instead of ${args.expect_status}` });
    }
    if (args.expect_text && !text.includes(args.expect_text)) {
      return done(false, { status, why: "the expected text is not in the answer" });
    }
    return done(true, { status });
  } catch (e) {
    return done(false, { why: e.cause?.code ?? e.cause?.message ?? e.message });
  }
}

const results = await Promise.all(args.urls.map(look));
console.log(JSON.stringify({ healthy: results.every((r) => r.healthy), results }, null, 1));
