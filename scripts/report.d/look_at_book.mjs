// Looks at each page of the built book in a real browser and prints what it has seen as JSON: on a phone and on a
// desktop. tests/docs/book_in_browser.rs says what it ought to be.
//
// node look_at_book.mjs DIRECTORY OF THE BOOK [DIRECTORY FOR SCREENSHOTS]
//
// Exit status 77: there is no browser.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { withBrowser } from './browser.mjs';
import { measure } from './measure.mjs';

const LIMIT_MS = 240_000;

/** Pages that are open at the same time: most of the time one waits for the browser. */
const AT_ONCE = 4;

const VIEWS = [
  { name: 'phone', width: 360, height: 800, ratio: 2, mobile: true },
  { name: 'desktop', width: 1280, height: 900, ratio: 1, mobile: false },
];

const [directory, screenshots] = process.argv.slice(2);
if (!directory) {
  process.stderr.write('Usage: node look_at_book.mjs DIRECTORY [DIRECTORY FOR SCREENSHOTS]\n');
  process.exit(2);
}

const root = fs.realpathSync(directory);

// 404.html is for servers, which say where its own files are; toc.html is a frame for browsers without scripts.
const files = fs
  .readdirSync(root, { recursive: true })
  .filter((name) => name.endsWith('.html') && !['404.html', 'toc.html'].includes(name))
  .sort();

await withBrowser(LIMIT_MS, async (browser) => {
  const seen = Object.fromEntries(VIEWS.map((view) => [view.name, {}]));
  const todo = VIEWS.flatMap((view) => files.map((file) => [view, file]));
  const lookAtSome = async () => {
    // One that is new for each file would have a process of its own each time.
    const page = await browser.open();
    for (const domain of ['Page', 'Network', 'Runtime']) await page.send(`${domain}.enable`);
    for (let next; (next = todo.shift()); ) {
      const [view, file] = next;
      seen[view.name][file] = await look(page, view, file);
    }
    await page.close();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lookAtSome));
  process.stdout.write(`${JSON.stringify(seen)}\n`);
});

async function look(page, view, file) {
  const failed = [];
  const complaints = [];
  const outside = [];
  const stopListening = page.listen(({ method, params }) => {
    if (method === 'Network.requestWillBeSent' && !/^(file|data):/.test(params.request.url)) outside.push(params.request.url);
    if (method === 'Network.loadingFailed') failed.push(params.errorText);
    if (method === 'Runtime.exceptionThrown') complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
  });
  await page.send('Emulation.setDeviceMetricsOverride', { width: view.width, height: view.height, deviceScaleFactor: view.ratio, mobile: view.mobile });
  await page.load(pathToFileURL(path.join(root, file)).href);
  const fits = await page.run(measure, view.width);
  const says = await page.run(contents);
  await page.shoot(screenshots, `book-${view.name}-${file.replaceAll('/', '-').replace('.html', '')}`, false);
  stopListening();
  const links = says.links.filter((link) => link.startsWith('file:')).map(inBook);
  return { fits: { scrollWidth: fits.scrollWidth, innerWidth: fits.innerWidth, lost: fits.lost }, ...says, links, failed, complaints, outside };
}

/** A link as a path in the book with its anchor. */
function inBook(link) {
  const url = new URL(link);
  return path.relative(root, fileURLToPath(url)) + decodeURIComponent(url.hash);
}

/** What one sees. Sent to the browser as text. */
function contents() {
  const main = document.querySelector('main');
  const shown = (e) => e.innerText.trim();
  const images = [...main.querySelectorAll('img')];
  const blocks = [...main.querySelectorAll('p, li, td, th, pre code, h1, h2, h3')].filter((e) => shown(e) !== '');
  return {
    headings: [...main.querySelectorAll('h1')].map(shown),
    words: shown(main).split(/\s+/).length,
    smallest: Math.min(...blocks.map((e) => parseFloat(getComputedStyle(e).fontSize))),
    images: images.length,
    broken: images.filter((i) => !i.complete || i.naturalWidth === 0).map((i) => i.src),
    links: [...main.querySelectorAll('a[href]')].map((a) => a.href),
    ids: [...document.querySelectorAll('[id]')].map((e) => e.id),
  };
}
