// Chromium for tests of the console: pages that are signed in, and two hands. The mouse clicks; the
// keyboard reaches everything with Tab, so a control that it cannot reach fails the test.

import { chromiumArguments } from '@starloom/testkit';
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import { buildConsole } from '../../scripts/build-console.ts';

export type { Browser, BrowserContext, Locator, Page };

/** A hang guard, not a measure. */
const WAIT_MS = Number(process.env.CONSOLE_WAIT_MS ?? 30_000);
const MAX_TABS = 150;

export async function openBrowser(path: string): Promise<Browser> {
  await buildConsole();
  const args = chromiumArguments('').filter((flag) => !/^--(headless|user-data-dir)/.test(flag));
  return await chromium.launch({ executablePath: path, args });
}

export interface OpenPageOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** Another origin that the page may lead to. */
  readonly issuer?: string;
}

/** A page with a storage of its own. What must never happen in it is written into `trouble`. */
export async function openPage(
  browser: Browser,
  origin: string,
  { colorScheme = 'light', width = 1280, height = 800, issuer = origin }: OpenPageOptions = {},
) {
  const context = await browser.newContext({ colorScheme, viewport: { width, height } });
  context.setDefaultTimeout(WAIT_MS);
  const trouble: string[] = [];
  await context.exposeFunction('report', (text: string) => void trouble.push(text));
  await context.addInitScript(() => {
    const { report } = globalThis as unknown as { report: (text: string) => void };
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      report(`policy: ${violatedDirective} ${blockedURI} ${sample}`),
    );
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => trouble.push(`error: ${error.stack}`));
  page.on('dialog', (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const isKnown = [origin, issuer].includes(new URL(request.url()).origin);
    if (!isKnown) trouble.push(`foreign: ${request.url()}`);
  });
  return { page, context, trouble };
}

/** Signs in as a person does who has a key. */
export async function signIn(page: Page, origin: string, key: string): Promise<void> {
  await page.goto(`${origin}/console/`);
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await isLive(page);
}

/** Waits until the page receives events. */
export async function isLive(page: Page): Promise<void> {
  await page.locator('.live.live').getByText('Live').waitFor();
}

export interface Hand {
  readonly name: 'mouse' | 'keyboard';
  /** Opens a link, presses a button, ticks a box. */
  use(target: Locator): Promise<void>;
  type(target: Locator, text: string): Promise<void>;
  paste(target: Locator, text: string): Promise<void>;
  choose(target: Locator, label: string): Promise<void>;
  goTo(page: Page, screen: string): Promise<void>;
  /** Of a list of tabs: the keyboard reaches the current one, and moves on with the arrows. */
  openTab(page: Page, name: string): Promise<void>;
  /** Of a long table: the keyboard moves there with `j`. */
  openRow(link: Locator): Promise<void>;
}

export const mouse: Hand = {
  name: 'mouse',
  use: (target) => target.click(),
  async type(target, text) {
    await target.click();
    await target.fill('');
    await target.pressSequentially(text);
  },
  paste: (target, text) => target.fill(text),
  async choose(target, label) {
    await target.selectOption({ label });
  },
  openTab: (page, name) => page.getByRole('tab', { name }).click(),
  async goTo(page, screen) {
    const name = page.getByRole('navigation').getByRole('link', { name: screen });
    await name.click();
  },
  openRow: (link) => link.click(),
};

const LETTERS: Readonly<Record<string, string>> = {
  Overview: 'o',
  Calls: 'c',
  Agents: 'a',
  Try: 't',
  Inbox: 'i',
  Jobs: 'j',
  Sessions: 's',
  'People and keys': 'k',
};

export const keyboard: Hand = {
  name: 'keyboard',
  async use(target) {
    await reach(target);
    const isTicked = await target.evaluate((element) =>
      element.matches('[type=checkbox], [type=radio]'),
    );
    await target.page().keyboard.press(isTicked ? 'Space' : 'Enter');
  },
  async type(target, text) {
    await reach(target);
    await target.page().keyboard.press('ControlOrMeta+a');
    await target.page().keyboard.type(text);
  },
  async paste(target, text) {
    await reach(target);
    await target.page().keyboard.press('ControlOrMeta+a');
    await target.page().keyboard.insertText(text);
  },
  async openTab(page, name) {
    const wanted = page.getByRole('tab', { name });
    await reach(page.getByRole('tab', { selected: true }));
    for (let count = 0; count < MAX_TABS; count += 1) {
      if ((await wanted.getAttribute('aria-selected')) === 'true') return;
      await page.keyboard.press('ArrowRight');
    }
    throw new Error(`${wanted} cannot be reached`);
  },
  async choose(target, label) {
    await reach(target);
    await target.page().keyboard.type(label);
    await target.page().keyboard.press('Tab');
  },
  async goTo(page, screen) {
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press('g');
    await page.keyboard.press(LETTERS[screen] ?? '?');
  },
  async openRow(link) {
    await link.waitFor();
    await reach(link, 'j');
    await link.page().keyboard.press('Enter');
  },
};

async function reach(target: Locator, key = 'Tab'): Promise<void> {
  await target.waitFor();
  const page = target.page();
  for (let count = 0; count < MAX_TABS; count += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press(key);
    // A long table moves the focus with the next frame.
    if (key !== 'Tab') await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  throw new Error(`${target} cannot be reached with ${key}`);
}
