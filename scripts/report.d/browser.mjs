// Owns a headless Chromium: starting it apart from whoever runs it, talking to it by the DevTools protocol over a pipe
// (node 20 has no WebSocket that is stable), and leaving nothing behind.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const CLOSE_LIMIT_MS = 5000;
const NO_BROWSER = 77;

/** The path of a browser, or nothing. */
export function findBrowser(env = process.env) {
  const directories = (env.PATH ?? '').split(path.delimiter).filter(Boolean);
  for (const name of NAMES) {
    for (const directory of directories) {
      const file = path.join(directory, name);
      if (fs.existsSync(file)) return file;
    }
  }
  return undefined;
}

/**
 * Does some work with a browser, which is gone afterwards whatever happens. Where there is none, the process ends with
 * status 77; where the time is over or a signal comes, with 1.
 */
export async function withBrowser(limitMs, work) {
  const program = findBrowser();
  if (!program) process.exit(NO_BROWSER);
  const browser = new Browser(program);
  const stop = () => {
    browser.kill();
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop);
  const limit = setTimeout(() => {
    process.stderr.write('the browser took too long\n');
    stop();
  }, limitMs);
  try {
    await work(browser);
  } finally {
    clearTimeout(limit);
    await browser.close();
  }
}

export class Browser {
  #child;
  #home;
  #next = 1;
  #waiting = new Map();
  #listeners = new Set();
  #rest = [];
  #said = '';
  #ended;

  constructor(program) {
    this.#home = fs.mkdtempSync(path.join(os.tmpdir(), 'gemini-tools-browser-'));
    const args = [
      '--headless=new',
      // It shows pages of ours only, and its sandbox does not start as root or in most containers.
      '--no-sandbox',
      '--remote-debugging-pipe',
      `--user-data-dir=${path.join(this.#home, 'profile')}`,
      '--no-first-run',
      '--no-default-browser-check',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-crash-reporter',
      '--disable-breakpad',
      '--disable-dev-shm-usage',
      '--disable-extensions',
      '--disable-gpu',
      '--disable-sync',
      // Nothing is reached, whatever asks for it.
      '--host-resolver-rules=MAP * ~NOTFOUND',
      'about:blank',
    ];
    const env = { PATH: process.env.PATH, HOME: this.#home, TMPDIR: this.#home, LANG: 'C.UTF-8', TZ: 'UTC' };
    // A group of its own, so that no process of it is forgotten.
    this.#child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
    this.#child.stderr.on('data', (bytes) => (this.#said = (this.#said + bytes).slice(-4000)));
    this.#child.stdio[3].on('error', () => {});
    this.#child.stdio[4].on('data', (bytes) => this.#read(bytes));
    this.#ended = new Promise((resolve) => {
      const end = (why) => {
        for (const { reject } of this.#waiting.values()) reject(new Error(`the browser is gone: ${why}\n${this.#said}`));
        this.#waiting.clear();
        resolve();
      };
      this.#child.on('error', (error) => end(error.message));
      this.#child.on('exit', (status, signal) => end(`status ${status ?? signal}`));
    });
  }

  /** Messages end in NUL. */
  #read(bytes) {
    let start = 0;
    for (let end; (end = bytes.indexOf(0, start)) >= 0; start = end + 1) {
      const message = JSON.parse(Buffer.concat([...this.#rest, bytes.subarray(start, end)]).toString('utf8'));
      this.#rest = [];
      this.#take(message);
    }
    this.#rest.push(bytes.subarray(start));
  }

  #take(message) {
    if (message.id === undefined) {
      for (const listener of this.#listeners) listener(message);
      return;
    }
    const { resolve, reject, method } = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error) reject(new Error(`${method}: ${message.error.message}`));
    else resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, method });
      this.#child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Tells a listener all that happens from now on; returns a function that ends it. */
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** An empty page of its own. */
  async open() {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    return new Page(this, sessionId, targetId);
  }

  async close() {
    this.send('Browser.close').catch(() => {});
    let timer;
    await Promise.race([this.#ended, new Promise((resolve) => (timer = setTimeout(resolve, CLOSE_LIMIT_MS)))]);
    clearTimeout(timer);
    this.kill();
  }

  kill() {
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // all of the group have ended
    }
    fs.rmSync(this.#home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

class Page {
  #browser;
  #session;
  #target;

  constructor(browser, session, target) {
    this.#browser = browser;
    this.#session = session;
    this.#target = target;
  }

  send(method, params) {
    return this.#browser.send(method, params, this.#session);
  }

  listen(listener) {
    return this.#browser.listen((message) => {
      if (message.sessionId === this.#session) listener(message);
    });
  }

  /** What a function returns that runs in the page, as JSON. */
  async run(work, ...args) {
    const expression = `(${work})(...${JSON.stringify(args)})`;
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async load(url) {
    let stopListening;
    const loaded = new Promise((resolve) => {
      stopListening = this.listen(({ method }) => method === 'Page.loadEventFired' && resolve());
    });
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
    stopListening();
  }

  /** A picture of it in this directory, where one is wanted. */
  async shoot(directory, name, whole) {
    if (!directory) return;
    fs.mkdirSync(directory, { recursive: true });
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole });
    fs.writeFileSync(path.join(directory, `${name}.png`), Buffer.from(data, 'base64'));
  }

  close() {
    return this.#browser.send('Target.closeTarget', { targetId: this.#target });
  }
}
