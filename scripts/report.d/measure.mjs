// Owns what is found out inside the page. These functions are sent to the browser as text: each stands alone.

/**
 * How the page fits on a screen of this width, and which of its texts are hard to read. The window's own width won't do:
 * on a phone it grows with the page.
 */
export function measure(screenWidth) {
  const scroller = document.scrollingElement;

  // "rgb(r, g, b)" or "rgba(r, g, b, a)", which is how computed colours read.
  const channels = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (front, back) => {
    const mix = (c) => front[c] * front.a + back[c] * (1 - front.a);
    return { r: mix('r'), g: mix('g'), b: mix('b'), a: 1 };
  };
  const background = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(channels(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((back, front) => over(front, back), { r: 255, g: 255, b: 255, a: 1 });
  };
  // WCAG 2.2, relative luminance and contrast ratio.
  const luminance = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const contrast = (element) => {
    const back = background(element);
    const front = over(channels(getComputedStyle(element).color), back);
    const [low, high] = [luminance(front), luminance(back)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (text === '' || !element.checkVisibility()) continue;
    texts.push({
      text: text.slice(0, 60),
      class: element.className,
      size: parseFloat(getComputedStyle(element).fontSize),
      contrast: contrast(element),
    });
  }
  // Beyond the edge and nothing around it that could be scrolled: lost.
  const reachable = (element) => {
    for (let e = element; e && e !== document.body; e = e.parentElement) {
      if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) return true;
    }
    return false;
  };
  const lost = [...document.body.querySelectorAll('*')].filter(
    (e) => e.checkVisibility() && e.getBoundingClientRect().right > screenWidth + 1 && !reachable(e),
  );
  const scrollable = [...document.querySelectorAll('*')].filter(
    (e) => e !== scroller && e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX),
  );
  const colour = (selector) => {
    const found = document.querySelector(selector);
    return found && JSON.stringify(background(found));
  };
  return {
    innerWidth,
    scrollWidth: scroller.scrollWidth,
    pixelRatio: devicePixelRatio,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    texts: texts.length,
    smallest: Math.min(...texts.map((t) => t.size)),
    faint: texts.filter((t) => t.contrast < 4.5),
    lost: lost.map((e) => e.outerHTML.slice(0, 120)),
    scrollable: scrollable.map((e) => ({ tag: e.tagName.toLowerCase(), focusable: e.tabIndex === 0 })),
    summaries: Math.min(...[...document.querySelectorAll('summary')].map((s) => s.getBoundingClientRect().height)),
    added: colour('.diff .a'),
    removed: colour('.diff .r'),
    hunk: colour('.diff .h'),
    page: colour('body'),
  };
}

/** What the page says, as one sees it. */
export function contents() {
  const shown = (e) => e.innerText.trim();
  const pairs = (list) => Object.fromEntries([...list.querySelectorAll(':scope > div')].map((d) => [shown(d.querySelector('dt')), shown(d.querySelector('dd'))]));
  const blocks = (details) =>
    Object.fromEntries([...details.querySelectorAll('h3')].map((h) => [shown(h), h.nextElementSibling.innerText.replaceAll('\n\n', '\n')]));
  const calls = [...document.querySelectorAll('details')].filter((d) => d.querySelector('dl'));
  return {
    title: document.title,
    elements: [...new Set([...document.querySelectorAll('*')].map((e) => e.tagName.toLowerCase()))].sort(),
    handlers: [...document.querySelectorAll('*')].flatMap((e) => e.getAttributeNames()).filter((name) => name.startsWith('on') || ['src', 'href', 'style'].includes(name)),
    owned: typeof globalThis.owned,
    totals: pairs(document.querySelector('dl')),
    table: [...document.querySelectorAll('tbody tr')].map((row) => [...row.cells].map(shown)),
    headings: [...document.querySelectorAll('h2')].map(shown),
    texts: [...document.querySelectorAll('.text')].map(shown),
    words: [...document.querySelectorAll('.markdown')].map(shown),
    used: [...document.querySelectorAll('body > p.soft')].map(shown),
    calls: calls.map((d) => ({
      name: shown(d.querySelector('summary code')),
      summary: shown(d.querySelector('summary')),
      bad: d.classList.contains('bad'),
      facts: pairs(d.querySelector('dl')),
      blocks: blocks(d),
    })),
  };
}

export function openAll() {
  for (const details of document.querySelectorAll('details')) details.open = true;
}

/** The middle of the nth summary, once it is in sight, and whether what it belongs to is open. */
export function summary(index) {
  const found = document.querySelectorAll('summary')[index];
  found.scrollIntoView({ block: 'center' });
  const { x, y, width, height } = found.getBoundingClientRect();
  return { x: x + Math.min(width, innerWidth) / 2, y: y + height / 2, open: found.parentElement.open, focused: document.activeElement === found };
}
