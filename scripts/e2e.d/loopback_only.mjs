// Loaded before anything else into every node process of a run (by NODE_OPTIONS): refuses every connection that does
// not stay on this machine, and notes it in the run's directory.

import dns from 'node:dns';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

const directory = process.env.GEMINI_TOOLS_E2E_DIRECTORY;

function isLoopback(host) {
  return host === undefined || host === '' || host === 'localhost' || host === '::1' || /^127\./.test(host);
}

function refusal(host) {
  if (directory) fs.appendFileSync(path.join(directory, 'refused.log'), `${host}\n`);
  return Object.assign(new Error(`connect ENETUNREACH ${host} (the end-to-end test allows loopback only)`), {
    code: 'ENETUNREACH',
    syscall: 'connect',
  });
}

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...args) {
  // net.connect hands over its arguments already normalised, as one array
  const first = Array.isArray(args[0]) ? args[0][0] : args[0];
  const host = first && typeof first === 'object' ? first.host : typeof args[1] === 'string' ? args[1] : undefined;
  const isPath = typeof first === 'string' || (first && typeof first === 'object' && first.path);
  if (isPath || isLoopback(host)) return connect.apply(this, args);
  const error = refusal(host);
  process.nextTick(() => this.destroy(error));
  return this;
};

const lookup = dns.lookup;
dns.lookup = function (host, ...rest) {
  if (isLoopback(host)) return lookup.call(this, host, ...rest);
  const error = refusal(host);
  process.nextTick(rest.at(-1), error);
  return {};
};
