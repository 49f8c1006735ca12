import type { Browser, BrowserContext, Page } from '../../test/console/browser.ts';
import { type ConsoleWorld, QUICK } from '../../test/console/world.ts';
import { quantile, round } from '../statistics.ts';

const MB = 1024 * 1024;
const EVENTS = 60;
const FRAMES = 240;
const CALLERS = 16;
/** A file of the same server that runs nothing. */
const EMPTY = '/console/licences.txt';

interface Session {
  readonly csrf: string;
  readonly cookie: string;
}

/** Opens pages of one session, each with a cache of its own. */
export class Pages {
  readonly #browser: Browser;
  readonly #world: ConsoleWorld;
  readonly #session: Session;

  private constructor(browser: Browser, world: ConsoleWorld, session: Session) {
    this.#browser = browser;
    this.#world = world;
    this.#session = session;
  }

  static async signIn(browser: Browser, world: ConsoleWorld): Promise<Pages> {
    const response = await fetch(`${world.origin}/console/api/session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
      body: '{}',
    });
    const { csrf } = (await response.json()) as { csrf: string };
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
    return new Pages(browser, world, { csrf, cookie });
  }

  async open(path: string): Promise<Page> {
    const context: BrowserContext = await this.#browser.newContext({
      viewport: { width: 1280, height: 800 },
    });
    const { csrf, cookie } = this.#session;
    const [name = '', value = ''] = cookie.split('=', 2);
    await context.addCookies([{ name, value, url: this.#world.origin }]);
    await context.addInitScript((token) => sessionStorage.setItem('starloom.csrf', token), csrf);
    const page = await context.newPage();
    await page.goto(`${this.#world.origin}${path}`);
    return page;
  }

  /** A call of an agent that answers at once; its trace, and when it was answered. */
  async call(): Promise<{ readonly trace: string; readonly at: number }> {
    const asked = { agent_id: QUICK, capability: 'ping', task: 'x' };
    const answer = (await this.#world.call('fabric.call', asked)) as {
      readonly result: { readonly structuredContent: { readonly trace: { trace_id: string } } };
    };
    return { trace: answer.result.structuredContent.trace.trace_id, at: Date.now() };
  }
}

/** Each page is opened with an empty cache, in turn. `screen`: until its first screen has its heading. */
export async function measurePaint(pages: Pages, rounds: number) {
  const found = { console: [] as number[], screen: [] as number[], empty: [] as number[] };
  for (let index = 0; index < rounds; index += 1) {
    for (const [name, path] of [
      ['console', '/console/'],
      ['empty', EMPTY],
    ] as const) {
      const page = await pages.open(path);
      if (name === 'console') found.screen.push(await page.evaluate(firstScreen));
      found[name].push(await page.evaluate(firstPaint));
      await page.context().close();
    }
  }
  return found;
}

async function firstScreen(): Promise<number> {
  while (document.querySelector('main h1') === null) await new Promise(requestAnimationFrame);
  return performance.now();
}

async function firstPaint(): Promise<number> {
  for (;;) {
    const [entry] = performance.getEntriesByName('first-contentful-paint');
    if (entry !== undefined) return entry.startTime;
    await new Promise(requestAnimationFrame);
  }
}

/** From the answer of a call until the page shows it, or an empty page has read its line. */
export async function measureEvents(pages: Pages) {
  const shown = await pages.open('/console/#/calls');
  await shown.locator('.live.live').waitFor();
  await shown.getByRole('table').waitFor();
  await shown.evaluate(() => {
    const seen = new Map<string, number>();
    Object.assign(globalThis, { seen });
    new MutationObserver(() => {
      for (const link of document.querySelectorAll('td a')) {
        const trace = /calls\/([^?]+)/.exec(link.getAttribute('href') ?? '')?.[1] ?? '';
        if (!seen.has(trace)) seen.set(trace, Date.now());
      }
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  const empty = await pages.open(EMPTY);
  await empty.evaluate(async () => {
    const seen = new Map<string, number>();
    Object.assign(globalThis, { seen });
    const headers = { 'X-Starloom-Csrf': sessionStorage.getItem('starloom.csrf') ?? '' };
    const response = await fetch('/console/api/events', { headers });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const read = async () => {
      for (;;) {
        const { done, value = '' } = (await reader?.read()) ?? { done: true };
        if (done) return;
        for (const [, trace = ''] of value.matchAll(/"trace_id":"([^"]+)"/g))
          if (!seen.has(trace)) seen.set(trace, Date.now());
      }
    };
    void read();
  });
  const answered = new Map<string, number>();
  for (let index = 0; index < EVENTS; index += 1) {
    const { trace, at } = await pages.call();
    answered.set(trace, at);
    await new Promise((resolve) => setTimeout(resolve, 130));
  }
  const delays = async (page: Page) => {
    const seen = await page.evaluate(() => [
      ...(globalThis as unknown as { seen: Map<string, number> }).seen,
    ]);
    const own = seen.filter(([trace]) => answered.has(trace));
    if (own.length < EVENTS * 0.9) {
      throw new Error(`only ${own.length} of ${EVENTS} calls were seen`);
    }
    return own.map(([trace, at]) => Math.max(0, at - (answered.get(trace) ?? at)));
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
export async function measureScroll(pages: Pages, rows: number) {
  const page = await pages.open('/console/#/calls');
  await loadAll(page, rows);
  const long = await page.evaluate(framesOf, { selector: '.table-box', frames: FRAMES });
  await page.context().close();
  const empty = await pages.open(EMPTY);
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

/** Of the tab's heap after a collection: opened, with all rows, and after many more calls. */
export async function measureMemory(pages: Pages, rows: number, calls: number) {
  const empty = await pages.open(EMPTY);
  const emptyMb = await heapOf(empty);
  await empty.context().close();
  const page = await pages.open('/console/#/overview');
  await page.getByRole('heading', { level: 1 }).waitFor();
  const opened = await heapOf(page);
  await page.evaluate(() => {
    location.hash = '#/calls';
  });
  await loadAll(page, rows);
  const withRows = await heapOf(page);
  let left = calls;
  const began = Date.now();
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      await pages.call();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const perSecond = round((calls / (Date.now() - began)) * 1000, 0);
  const underLoad = await heapOf(page);
  await page.context().close();
  return {
    empty: emptyMb,
    opened,
    with_rows: withRows,
    under_load: underLoad,
    calls_per_second: perSecond,
  };
}

async function heapOf(page: Page): Promise<number> {
  const tab = await page.context().newCDPSession(page);
  await tab.send('HeapProfiler.collectGarbage');
  const { usedSize } = await tab.send('Runtime.getHeapUsage');
  return round(usedSize / MB, 1);
}
