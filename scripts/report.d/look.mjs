// Looks at a report of run_agent in a real browser and prints what it has seen as JSON: on a phone and on a desktop,
// in light and in dark. tests/agent/report_in_browser.rs says what it ought to be.
//
// node look.mjs REPORT.html [DIRECTORY FOR SCREENSHOTS]
//
// Exit status 77: there is no browser.

import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

import { withBrowser } from './browser.mjs';
import { contents, measure, openAll, summary } from './measure.mjs';

const LIMIT_MS = 120_000;

const VIEWS = [
  { name: 'phone', width: 360, height: 800, ratio: 3, mobile: true, scheme: 'light' },
  { name: 'phone-dark', width: 360, height: 800, ratio: 3, mobile: true, scheme: 'dark' },
  { name: 'desktop', width: 1280, height: 900, ratio: 1, mobile: false, scheme: 'light' },
  { name: 'desktop-dark', width: 1280, height: 900, ratio: 1, mobile: false, scheme: 'dark' },
];

const [file, screenshots] = process.argv.slice(2);
if (!file) {
  process.stderr.write('Usage: node look.mjs REPORT.html [DIRECTORY FOR SCREENSHOTS]\n');
  process.exit(2);
}

await withBrowser(LIMIT_MS, async (browser) => {
  const seen = {};
  for (const view of VIEWS) seen[view.name] = await look(browser, view);
  process.stdout.write(`${JSON.stringify(seen)}\n`);
});

async function look(browser, view) {
  const page = await browser.open();
  const url = pathToFileURL(path.resolve(file)).href;
  const requests = [];
  const complaints = [];
  const dialogs = [];
  page.listen(({ method, params }) => {
    if (method === 'Network.requestWillBeSent' && params.request.url !== url) requests.push(params.request.url);
    if (method === 'Runtime.consoleAPICalled') complaints.push(params.args.map((a) => a.value ?? a.description).join(' '));
    if (method === 'Runtime.exceptionThrown') complaints.push(params.exceptionDetails.text);
    if (method === 'Log.entryAdded') complaints.push(params.entry.text);
    if (method === 'Page.javascriptDialogOpening') {
      dialogs.push(params.message);
      page.send('Page.handleJavaScriptDialog', { accept: false }).catch(() => {});
    }
  });
  for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await page.send(`${domain}.enable`);
  await page.send('Emulation.setDeviceMetricsOverride', { width: view.width, height: view.height, deviceScaleFactor: view.ratio, mobile: view.mobile });
  await page.send('Emulation.setTouchEmulationEnabled', { enabled: view.mobile });
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: view.scheme }] });
  await page.load(url);

  const closed = await page.run(measure, view.width);
  await page.shoot(screenshots, `${view.name}-closed`, true);
  const steps = { pointer: await byPointer(page, view), keys: await byKeys(page) };
  await page.run(openAll);
  const open = await page.run(measure, view.width);
  await page.shoot(screenshots, `${view.name}-open`, true);
  const says = await page.run(contents);
  await page.close();
  return { closed, open, steps, says, requests, complaints, dialogs };
}

/** Opens and closes the first fold with a finger or a mouse: whether it is open before, between and after. */
async function byPointer(page, view) {
  const states = [(await page.run(summary, 0)).open];
  for (let i = 0; i < 2; i++) {
    const { x, y } = await page.run(summary, 0);
    if (view.mobile) {
      await page.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
      await page.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    } else {
      for (const type of ['mousePressed', 'mouseReleased']) {
        await page.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
      }
    }
    states.push(await changed(page, 0, states.at(-1)));
  }
  return states;
}

/** Whether the nth fold is open, once that is something else than before; a tap takes effect a little later. */
async function changed(page, index, before) {
  for (let tries = 0; tries < 60; tries++) {
    const { open } = await page.run(summary, index);
    if (open !== before) return open;
    await setTimeout(50);
  }
  return before;
}

/** The same with the last fold, by Tab until it has the focus, then Enter and Space. */
async function byKeys(page) {
  const last = (await page.run(() => document.querySelectorAll('summary').length)) - 1;
  const press = async (key, code, text) => {
    await page.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', key, code: key === ' ' ? 'Space' : key, text, windowsVirtualKeyCode: code });
    await page.send('Input.dispatchKeyEvent', { type: 'keyUp', key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: code });
  };
  for (let presses = 0; presses < 200 && !(await page.run(summary, last)).focused; presses++) await press('Tab', 9);
  const states = [(await page.run(summary, last)).open];
  await press('Enter', 13, '\r');
  states.push(await changed(page, last, states.at(-1)));
  await press(' ', 32, ' ');
  states.push(await changed(page, last, states.at(-1)));
  return states;
}
