// Every screen against rules of accessibility, at the width of a phone, with more calls than anyone
// reads, and without a gateway.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describeWithEngine } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Browser, isLive, openBrowser, openPage, type Page, signIn } from './browser.ts';
import { type ConsoleWorld, openWorld, QUICK } from './world.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const isWhole = process.env.CONSOLE_ALL !== undefined;
const ROWS = isWhole ? 50_000 : 5_000;
/** Of the fifth call from the end, which `percy` answered. */
const OLDEST_TRACE = '00000005-1000-4000-8000-000000000005';
const THEMES = isWhole ? (['light', 'dark'] as const) : (['dark'] as const);
/** A hang guard, not a measure. */
const WAIT = { timeout: 30_000 };
const SCREENS = [
  'overview',
  'calls',
  'agents',
  'agents/files',
  'agents/add',
  'try/echo',
  'inbox',
  'jobs',
  'sessions',
  'sessions/shared',
  'topology',
  'topology?view=table',
  'usage',
  'keys',
  'keys?tab=decode',
  'keys?tab=simulate',
  'keys?tab=revoked',
  'audit',
  'settings',
  'settings?tab=configuration',
  'settings?tab=you',
  'nowhere',
];

describeWithEngine('chromium', (engine) => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(engine().path);
  });
  afterAll(async () => {
    await browser?.close();
  });

  describe('every screen', () => {
    let world: ConsoleWorld;
    let trace: string;
    beforeAll(async () => {
      world = await openWorld();
      trace = await prepare(world);
    });
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
    });

    it.each(THEMES)('breaks no rule of accessibility in the %s theme', async (colorScheme) => {
      const { page, context, trouble } = await openPage(browser, world.origin, { colorScheme });
      await page.goto(`${world.origin}/console/`);
      await page.getByLabel('Key', { exact: true }).waitFor();
      const found = [...(await violations(page, 'sign-in'))];
      await signIn(page, world.origin, world.key);
      for (const place of [...SCREENS, `calls/${trace}`]) {
        await visit(page, world.origin, place);
        found.push(...(await page.getByRole('alert').allInnerTexts()));
        found.push(...(await violations(page, place)));
      }
      await page.keyboard.press('ControlOrMeta+k');
      await page.getByRole('dialog').waitFor();
      found.push(...(await violations(page, 'palette')));
      await context.close();
      expect(found).toEqual([]);
      expect(trouble).toEqual([]);
    });

    it('fits a page of 320 pixels', async () => {
      const size = { width: 320, height: 640 };
      const { page, context } = await openPage(browser, world.origin, size);
      await signInNarrow(page, world);
      const wide: string[] = [];
      for (const place of [...SCREENS, `calls/${trace}`]) {
        await visit(page, world.origin, place);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        if (width > 320) wide.push(`${place}: ${width}`);
      }
      await context.close();
      expect(wide).toEqual([]);
    });

    it('shows a call as it happens, with what fell back and why', async () => {
      const { page, context } = await openPage(browser, world.origin);
      await signIn(page, world.origin, world.key);
      await visit(page, world.origin, 'calls');
      await world.call('fabric.call', { agent_id: 'broken', capability: 'say', task: 'live' });
      await page.getByRole('link').first().waitFor();
      const row = page.getByRole('row').filter({ hasText: 'fell back' }).first();
      await row.click();
      await page.getByText(/broken failed with AGENT_OFFLINE, so echo answered/).waitFor();
      await page
        .getByRole('list', { name: 'Steps of the call' })
        .getByText('echo')
        .first()
        .waitFor();
      await page.goBack();
      await page.getByRole('table', { name: 'Calls' }).waitFor();
      await context.close();
    });
  });

  if (process.env.CONSOLE_PICTURES) {
    it('is pictured in the README', async () => {
      await using world = await openWorld({ samples: true });
      const folder = fileURLToPath(new URL('../../docs/images/', import.meta.url));
      await mkdir(folder, { recursive: true });
      const ask = (agent_id: string, capability: string, args: object) =>
        world.call('fabric.call', { agent_id, capability, ...args });
      let fellBack: unknown;
      for (let index = 0; index < 40; index += 1) {
        await ask('percy', 'reason', { task: `Question ${index}. Why do agents need a fabric?` });
        await ask('librarian', 'lookup', { task: 'direction of imports' });
        if (index % 5 === 0) fellBack = await ask('flaky', 'reason', { task: 'Who answers?' });
        if (index % 13 === 0) await ask('coder', 'code', { arguments: { path: 'no/such/file' } });
        await new Promise((resolve) => setTimeout(resolve, 1500));
      }
      await ask('percy', 'reason', { task: 'As a job', async: true });
      const { page, context } = await openPage(browser, world.origin, { width: 1200, height: 760 });
      await signIn(page, world.origin, world.key);
      for (const [name, place] of [
        ['console-overview', 'overview'],
        ['console-call', `calls/${traceOf(fellBack)}`],
      ] as const) {
        await visit(page, world.origin, place);
        await writeFile(`${folder}${name}.png`, await page.screenshot());
      }
      await context.close();
    });
  }

  describe('with many calls', () => {
    let world: ConsoleWorld;
    let page: Page;
    beforeAll(async () => {
      world = await openWorld({ calls: ROWS });
      ({ page } = await openPage(browser, world.origin));
      await signIn(page, world.origin, world.key);
      await visit(page, world.origin, 'calls');
      await page.getByRole('table', { name: 'Calls' }).waitFor();
    });
    afterAll(async () => {
      await page?.context().close();
      await world?.[Symbol.asyncDispose]();
    });
    const call = (capability: string) =>
      world.call('fabric.call', { agent_id: QUICK, capability, task: 'x' });
    const choose = (name: string, option: string) =>
      page.getByLabel(name).selectOption({ label: option });

    it(`holds ${ROWS} rows and draws those in view`, async () => {
      const table = page.getByRole('table', { name: 'Calls' });
      const box = page.locator('.table-box');
      await expect
        .poll(
          async () => {
            await box.evaluate((element) => element.scrollTo(0, element.scrollHeight));
            return Number(await table.getAttribute('aria-rowcount'));
          },
          { timeout: 60_000, interval: 30 },
        )
        .toBe(ROWS + 1);
      await expect
        .poll(async () => {
          await box.evaluate((element) => element.scrollTo(0, element.scrollHeight));
          return await page.getByRole('row').last().getAttribute('aria-rowindex');
        }, WAIT)
        .toBe(String(ROWS + 1));
      expect(await page.getByRole('row').count()).toBeLessThan(100);
    });

    it('lets new calls wait while the person reads further down, and counts them', async () => {
      const box = page.locator('.table-box');
      await box.evaluate((element) => element.scrollTo(0, 20_000));
      await expect.poll(() => box.evaluate((element) => element.scrollTop), WAIT).toBe(20_000);
      const row = page.getByRole('row').nth(10);
      // The rows of a place are drawn with the frame after it was scrolled to.
      await expect
        .poll(async () => Number(await row.getAttribute('aria-rowindex')), WAIT)
        .toBeLessThan(1000);
      const before = await row.innerText();
      await Promise.all(Array.from({ length: 30 }, () => call('ping')));
      await page.getByRole('button', { name: 'Show 30 new calls' }).waitFor();
      expect(await row.innerText()).toBe(before);
      await page.getByRole('button', { name: 'Show 30 new calls' }).click();
      await expect.poll(() => box.evaluate((element) => element.scrollTop), WAIT).toBe(0);
    });

    it('finds the few calls that a filter leaves, however far back they are', async () => {
      await choose('Any status', 'Asks');
      await page.getByText('No call matches.').waitFor();
      await choose('Any status', 'Any status');
      await page.getByLabel('Search').fill(`${OLDEST_TRACE} percy`);
      await expect.poll(() => page.getByRole('row').count(), WAIT).toBe(2);
      await page.getByLabel('Search').fill('');
      await page.getByLabel('Search').blur();
      await expect.poll(() => page.getByRole('row').count(), WAIT).toBeGreaterThan(10);
    });

    it('stays usable while calls arrive as fast as the gateway takes them', async () => {
      let isOver = false;
      const callers = Array.from({ length: 16 }, async () => {
        while (!isOver) await call('ping');
      });
      try {
        await page.keyboard.press('/');
        await page.keyboard.type('quick');
        await expect.poll(() => page.url(), WAIT).toContain('q=quick');
      } finally {
        isOver = true;
        await Promise.all(callers);
      }
      await call('after-the-storm');
      await page.getByText('after-the-storm').first().waitFor();
    });

    it('shows a dead gateway as such, and goes on without a reload when it is back', async () => {
      await world.stop();
      await page.getByText('The gateway does not answer.').waitFor();
      await page.locator('.live.lost').getByText('Not connected').waitFor();
      await world.start();
      await isLive(page);
      await page.getByText('The gateway does not answer.').waitFor({ state: 'detached' });
      await call('back-again');
      await page.getByText('back-again').first().waitFor();
    });

    it('is moved through with the keyboard, and keeps its place for the way back', async () => {
      await page.goto(`${world.origin}/console/#/calls`);
      await page.getByRole('table', { name: 'Calls' }).waitFor();
      await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      for (let index = 0; index < 60; index += 1) await page.keyboard.press('j');
      const scrolled = () => page.locator('.table-box').evaluate((element) => element.scrollTop);
      await expect.poll(scrolled, WAIT).toBeGreaterThan(0);
      const place = await scrolled();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Waterfall' }).waitFor();
      await page.goBack();
      await expect.poll(scrolled, WAIT).toBe(place);
    });
  });
});

/** Traffic, a job and a session, so that screens have something to show. Answers with a trace that fell back. */
async function prepare(world: ConsoleWorld): Promise<string> {
  for (let index = 0; index < 6; index += 1) {
    await world.call('fabric.call', {
      agent_id: 'echo',
      capability: 'say',
      task: `hello ${index}`,
    });
  }
  await world.call('fabric.call', { agent_id: 'echo', capability: 'say', task: 'fail' });
  await world.call('fabric.call', {
    agent_id: 'echo',
    capability: 'say',
    task: 'job',
    async: true,
  });
  await world.call('session.create', { session_id: 'shared', agent_id: 'tester' });
  const answer = await world.call('fabric.call', {
    agent_id: 'broken',
    capability: 'say',
    task: 'who answers?',
  });
  return traceOf(answer);
}

function traceOf(answer: unknown): string {
  const { result } = answer as { result: { structuredContent: { trace: { trace_id: string } } } };
  return result.structuredContent.trace.trace_id;
}

async function signInNarrow(page: Page, world: ConsoleWorld): Promise<void> {
  await page.goto(await world.link());
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
}

async function visit(page: Page, origin: string, place: string): Promise<void> {
  await page.goto(`${origin}/console/#/${place}`);
  const isShown =
    place === 'nowhere' ? page.getByText('There is no such page.') : page.locator('main h1');
  await isShown.waitFor();
  await page.locator('main .loading').waitFor({ state: 'detached' });
}

async function violations(page: Page, place: string): Promise<string[]> {
  const isThere = await page.evaluate(() => 'axe' in globalThis);
  if (!isThere) await page.evaluate(await readFile(AXE, 'utf8'));
  const results = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(
          options: object,
        ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
      };
    };
    return (
      await axe.run({
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      })
    ).violations;
  });
  return results.map(
    ({ id, nodes }) =>
      `${place}: ${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  );
}
