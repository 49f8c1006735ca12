import type { FakeGateway } from '../../packages/console/test/support/fake-gateway.ts';
import type { Browser, Page } from '../../test/console/browser.ts';
import { quantile, round } from '../statistics.ts';

const MB = 1024 * 1024;
const EVENTS = 60;
const FRAMES = 240;
const LOAD_MS = 8000;
/** A file of the same server that runs nothing. */
const EMPTY = '/console/licences.txt';

async function open(browser: Browser, fake: FakeGateway, path: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addInitScript(() => sessionStorage.setItem('starloom.csrf', 'fake'));
  const page = await context.newPage();
  await page.goto(`${fake.url}${path}`);
  return page;
}

/** Each page is opened with an empty cache, in turn. */
export async function measurePaint(browser: Browser, fake: FakeGateway, rounds: number) {
  const found = { console: [] as number[], empty: [] as number[] };
  for (let index = 0; index < rounds; index += 1) {
    for (const [name, path] of [
      ['console', '/console/'],
      ['empty', EMPTY],
    ] as const) {
      const page = await open(browser, fake, path);
      found[name].push(await page.evaluate(firstPaint));
      await page.context().close();
    }
  }
  return found;
}

async function firstPaint(): Promise<number> {
  for (;;) {
    const [entry] = performance.getEntriesByName('first-contentful-paint');
    if (entry !== undefined) return entry.startTime;
    await new Promise(requestAnimationFrame);
  }
}

/** From the moment the server writes a line until the page shows it, or an empty page has read it. */
export async function measureEvents(browser: Browser, fake: FakeGateway) {
  const shown = await open(browser, fake, '/console/#/calls');
  await shown.getByRole('table').waitFor();
  await shown.evaluate(() => {
    const seen = new Map<string, number>();
    Object.assign(globalThis, { seen });
    new MutationObserver(() => {
      for (const cell of document.querySelectorAll('td:nth-child(3)')) {
        const text = cell.textContent ?? '';
        if (text.startsWith('bench-') && !seen.has(text)) seen.set(text, Date.now());
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const empty = await open(browser, fake, EMPTY);
  await empty.evaluate(async () => {
    const seen = new Map<string, number>();
    Object.assign(globalThis, { seen });
    const response = await fetch('/console/api/events');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const read = async () => {
      for (;;) {
        const { done, value = '' } = (await reader?.read()) ?? { done: true };
        if (done) return;
        for (const [name] of value.matchAll(/bench-\d+/g))
          if (!seen.has(name)) seen.set(name, Date.now());
      }
    };
    void read();
  });
  const sent = new Map<string, number>();
  for (let index = 0; index < EVENTS; index += 1) {
    const capability = `bench-${index}`;
    sent.set(capability, Date.now());
    fake.addCall({ capability });
    await new Promise((resolve) => setTimeout(resolve, 130));
  }
  const delays = async (page: Page) => {
    const seen = await page.evaluate(() => [
      ...(globalThis as unknown as { seen: Map<string, number> }).seen,
    ]);
    if (seen.length < EVENTS * 0.9)
      throw new Error(`only ${seen.length} of ${EVENTS} events were seen`);
    return seen.map(([name, at]) => Math.max(0, at - (sent.get(name) ?? at)));
  };
  const found = { console: await delays(shown), empty: await delays(empty) };
  await shown.context().close();
  await empty.context().close();
  return found;
}

async function loadAll(page: Page, rows: number): Promise<void> {
  await page.getByRole('table').waitFor();
  await page.evaluate(async (wanted) => {
    const box = document.querySelector('.table-box');
    const table = document.querySelector('table');
    while (Number(table?.getAttribute('aria-rowcount')) < wanted) {
      box?.scrollTo(0, box.scrollHeight);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    box?.scrollTo(0, 0);
  }, rows);
}

/** Frames while a list is scrolled far at every frame, beside an element without content. */
export async function measureScroll(browser: Browser, fake: FakeGateway, rows: number) {
  const page = await open(browser, fake, '/console/#/calls');
  await loadAll(page, rows);
  const long = await page.evaluate(framesOf, { selector: '.table-box', frames: FRAMES });
  await page.context().close();
  const empty = await open(browser, fake, EMPTY);
  await empty.evaluate(() => {
    const box = document.createElement('div');
    box.className = 'table-box';
    box.style.cssText = 'height: 600px; overflow: auto';
    const tall = document.createElement('div');
    tall.style.height = '1800000px';
    box.append(tall);
    document.body.append(box);
  });
  const plain = await empty.evaluate(framesOf, { selector: '.table-box', frames: FRAMES });
  await empty.context().close();
  const figure = (all: number[], share: number) => round(quantile(all, share) ?? 0, 1);
  return {
    console_p50: figure(long, 0.5),
    console_p95: figure(long, 0.95),
    empty_p50: figure(plain, 0.5),
    empty_p95: figure(plain, 0.95),
  };
}

async function framesOf({
  selector,
  frames,
}: {
  selector: string;
  frames: number;
}): Promise<number[]> {
  const box = document.querySelector(selector);
  const lengths: number[] = [];
  let last = performance.now();
  for (let index = 0; index < frames; index += 1) {
    box?.scrollBy(0, 2400);
    await new Promise(requestAnimationFrame);
    lengths.push(performance.now() - last);
    last = performance.now();
  }
  return lengths;
}

/** Of the tab's heap after a collection: opened, with all rows, and after 200 calls a second. */
export async function measureMemory(browser: Browser, fake: FakeGateway, rows: number) {
  const empty = await open(browser, fake, EMPTY);
  const emptyMb = await heapOf(empty);
  await empty.context().close();
  const page = await open(browser, fake, '/console/#/overview');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const opened = await heapOf(page);
  await page.goto(`${fake.url}/console/#/calls`);
  await loadAll(page, rows);
  const withRows = await heapOf(page);
  const load = setInterval(() => {
    for (let index = 0; index < 10; index += 1) fake.addCall();
  }, 50);
  await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
  clearInterval(load);
  const underLoad = await heapOf(page);
  await page.context().close();
  return { empty: emptyMb, opened, with_rows: withRows, under_load: underLoad };
}

async function heapOf(page: Page): Promise<number> {
  const tab = await page.context().newCDPSession(page);
  await tab.send('HeapProfiler.collectGarbage');
  const { usedSize } = await tab.send('Runtime.getHeapUsage');
  return round(usedSize / MB, 1);
}
