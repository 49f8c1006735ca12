// What people do on the page, each by mouse and by keyboard, against a gateway that is a process of
// its own. Where the page waits for something, the test waits for what the person would see.

import { describeWithEngine } from '@starloom/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type Browser,
  type Hand,
  isLive,
  keyboard,
  mouse,
  openBrowser,
  openPage,
  type Page,
  signIn,
} from './browser.ts';
import { type ConsoleWorld, fixture, HOSTILE, NARROW_KEY, openWorld } from './world.ts';

/** `npm test` walks by mouse; both hands walk with `npm run test:console`. */
const hands = process.env.CONSOLE_ALL === undefined ? [mouse] : [mouse, keyboard];

describeWithEngine('chromium', (engine) => {
  let browser: Browser;
  let world: ConsoleWorld;
  let opened: Awaited<ReturnType<typeof openPage>>[] = [];
  beforeAll(async () => {
    [browser, world] = await Promise.all([openBrowser(engine().path), openWorld()]);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    const trouble = opened.flatMap((one) => one.trouble);
    for (const { context } of opened) await context.close();
    opened = [];
    expect(trouble).toEqual([]);
  });
  const open = async (): Promise<Page> => {
    const one = await openPage(browser, world.origin, { issuer: world.issuer });
    opened.push(one);
    return one.page;
  };
  const signedIn = async (key: string): Promise<Page> => {
    const page = await open();
    await signIn(page, world.origin, key);
    return page;
  };

  describe.each(hands)('by $name', (hand: Hand) => {
    let page: Page;
    let trouble: string[];
    beforeAll(async () => {
      ({ page, trouble } = await openPage(browser, world.origin));
      await signIn(page, world.origin, world.key);
    });
    afterAll(async () => {
      await page?.context().close();
    });
    afterEach(() => {
      expect(trouble).toEqual([]);
    });
    const button = (page: Page, name: string | RegExp) =>
      page.getByRole('button', { name, exact: true });
    const run = async (agent: string, task: string, asJob = false) => {
      await hand.goTo(page, 'Try');
      await hand.choose(page.getByLabel('Agent'), agent);
      await hand.type(page.getByLabel('task'), task);
      if (asJob) await hand.use(page.getByLabel(/^As a job/));
      await hand.use(button(page, 'Run'));
    };

    it('opens with a link that works once, and leads to the first call', async () => {
      const page = await open();
      const link = await world.link();
      await page.goto(link);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(page.url()).not.toContain('code=');
      // The steps are shown until they are done: to the first hand alone.
      if (hand === mouse) await hand.use(page.getByRole('link', { name: 'Make a call' }));
      else await hand.goTo(page, 'Try');
      await hand.choose(page.getByLabel('Agent'), 'echo');
      await hand.type(page.getByLabel('task'), 'hello out there');
      await hand.use(button(page, 'Run'));
      await page.getByLabel('Answer', { exact: true }).getByText('hello out there').waitFor();
      await page.getByText('answered by echo').waitFor();
      await page.reload();
      await isLive(page);

      const other = await open();
      await other.goto(link);
      await other.getByRole('alert').getByText('AUTH_DENIED').waitFor();
      // The page is open already: this changes the fragment alone.
      await other.goto(await world.link());
      await other.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(other.url()).not.toContain('code=');
    });

    it('signs a person in at an issuer, whose token stays with the gateway', async () => {
      const page = await open();
      await page.goto(`${world.origin}/console/`);
      await hand.use(button(page, `Sign in with ${new URL(world.issuer).host}`));
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await isLive(page);
      expect(page.url()).toBe(`${world.origin}/console/#/`);
      await page.getByText(`${world.issuer}|ada`).waitFor();
      const kept = await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]));
      expect(kept).not.toMatch(/eyJ|proof/);
      await hand.goTo(page, 'Agents');
      await page.getByRole('link', { name: 'echo' }).waitFor();
      expect(await page.getByText('hostile').count()).toBe(0);
      await page.reload();
      await isLive(page);
      await hand.use(button(page, 'Sign out'));
      await page.getByRole('heading', { name: 'Sign in to Starloom' }).waitFor();
    });

    it('shows that another agent answered, and why', async () => {
      await run('broken', 'who answers?');
      await page.getByText('fell back').waitFor();
      await page.getByText('answered by echo').waitFor();
      await page.getByText('broken AGENT_OFFLINE → echo answered').waitFor();
    });

    it('follows a job over a restart of the gateway without a reload', async () => {
      await run('echo', 'wait 1200', true);
      await hand.use(page.getByRole('link', { name: 'Open the job' }));
      await page.getByRole('heading', { name: 'echo · say' }).waitFor();
      await world.stop();
      await page.getByText('The gateway does not answer.').waitFor();
      await world.start();
      await isLive(page);
      await page.locator('.page-head').getByText('succeeded').waitFor();
      expect(await page.getByText('The gateway does not answer.').count()).toBe(0);
    });

    it('answers the question of an agent from the inbox', async () => {
      await world.call('fabric.call', { agent_id: 'asker', capability: 'book', async: true });
      await page.getByRole('link', { name: /Inbox.*1 waiting/ }).waitFor();
      await hand.goTo(page, 'Inbox');
      await page.getByText('Which table?').waitFor();
      await hand.use(button(page, 'Answer'));
      await page.getByText('Required.').first().waitFor();
      await hand.type(page.getByLabel('Your name'), 'Ada');
      await hand.choose(page.getByLabel('meal'), 'Fish');
      await hand.use(button(page, 'Answer'));
      await page.getByText('Nothing waits for you.').waitFor();
      await hand.goTo(page, 'Jobs');
      await hand.openRow(page.getByRole('link', { name: 'asker · book' }).first());
      await page
        .getByText(/"name":\s*"Ada"/)
        .first()
        .waitFor();
    });

    it('shows what changed in a tool, and approves it', async () => {
      const words = `Reads a file, says the ${hand.name}`;
      await world.call('files.mutate', { to: words });
      await hand.goTo(page, 'Inbox');
      await hand.use(page.getByRole('link', { name: 'See what changed' }));
      await page
        .locator('.before')
        .getByText(/^Reads a file/)
        .waitFor();
      await page.locator('.after').getByText(words).waitFor();
      await hand.use(button(page, 'Approve read'));
      await page
        .getByRole('heading', { name: 'Waits for approval' })
        .waitFor({ state: 'detached' });
      await page.getByText('Approved 1 tool of files.').waitFor();
    });

    it('tests an agent, lists its tools, and adds it', async () => {
      const name = `added-${hand.name}`;
      await hand.goTo(page, 'Agents');
      await hand.use(page.getByRole('link', { name: 'Add an agent' }));
      await hand.type(page.getByLabel('Name'), name);
      if (hand.name === 'mouse') await page.getByText('A command', { exact: true }).click();
      else {
        await hand.use(page.getByLabel('At an address'));
        await page.keyboard.press('ArrowRight');
      }
      await hand.type(
        page.getByLabel('Command', { exact: true }),
        `${process.execPath} ${fixture('asking-agent.ts')} current`,
      );
      await hand.use(button(page, 'Test'));
      await page.getByRole('heading', { name: 'book' }).waitFor();
      expect(await button(page, 'Save').isEnabled()).toBe(true);
      await hand.use(button(page, 'Save'));
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await hand.use(button(page, 'Remove'));
      await hand.use(page.getByRole('dialog').getByRole('button', { name: 'Remove' }));
      await page.getByText(`${name} was removed.`).waitFor();
    });

    it('drains one instance of an agent, and then the other', async () => {
      const name = `twins-${hand.name}`;
      await world.registerTwins(name);
      await hand.goTo(page, 'Agents');
      await hand.openRow(page.getByRole('link', { name }));
      await page.getByRole('heading', { name: '2 instances' }).waitFor();
      await hand.use(button(page, 'Drain south'));
      await hand.use(page.getByRole('dialog').getByRole('button', { name: 'Drain' }));
      const rowOf = (node: string) => page.getByRole('row').filter({ hasText: node });
      await rowOf('south').getByText('draining').waitFor();
      await rowOf('north').getByText('active').waitFor();
      const answer = await world.call('fabric.call', { agent_id: name, capability: 'ping' });
      expect(JSON.stringify(answer)).toContain('pong');
      await hand.use(button(page, 'Drain'));
      await hand.use(page.getByRole('dialog').getByRole('button', { name: 'Drain' }));
      await page.getByText(`${name} gets no new calls.`).waitFor();
      await rowOf('north').getByText('draining').waitFor();
      expect(await button(page, /^Drain/).count()).toBe(0);
    });

    it('reads a passport with its chain, and revokes its grant', async () => {
      const delegate = `desk-${hand.name}`;
      const passport = await world.command(
        ...['passport', 'create', 'ada', '--delegate', delegate, '--scope', 'agent:echo'],
      );
      await hand.goTo(page, 'People and keys');
      await hand.openTab(page, 'Read a token');
      await hand.paste(page.getByLabel('Token'), passport);
      await hand.use(button(page, 'Read'));
      await page
        .getByRole('status')
        .getByText(/valid passport/)
        .waitFor();
      const chain = page.getByRole('list', { name: 'Who acts for whom' }).getByRole('listitem');
      expect(await chain.allInnerTexts()).toEqual(['ada principal, org', `${delegate} delegate`]);
      await hand.use(button(page, 'Revoke its grant'));
      await hand.use(page.getByRole('dialog').getByRole('button', { name: 'Revoke' }));
      await page
        .getByRole('status')
        .getByText(/refused passport/)
        .waitFor();

      await hand.openTab(page, 'Revoked');
      await page.getByRole('cell', { name: 'grant' }).first().waitFor();
      await hand.choose(page.getByLabel('Revoke a'), 'delegate');
      await hand.type(page.getByLabel('Name'), delegate);
      await hand.use(button(page, 'Revoke'));
      await hand.use(page.getByRole('dialog').getByRole('button', { name: 'Revoke' }));
      await page.getByRole('cell', { name: delegate }).waitFor();
      await hand.openTab(page, 'Read a token');
      await hand.paste(page.getByLabel('Token'), 'not a token');
      await hand.use(button(page, 'Read'));
      await page.getByText('This is no passport and no mandate of a gateway.').waitFor();
    });

    it('simulates calls of a key without making them', async () => {
      await hand.goTo(page, 'People and keys');
      await hand.openTab(page, 'Simulate a call');
      await hand.choose(page.getByLabel('Key'), 'narrow');
      await hand.choose(page.getByLabel('Agent'), 'echo');
      await hand.type(page.getByLabel('Capability'), 'say');
      await hand.use(button(page, 'Simulate'));
      await page.getByText('the caller sees the tool').waitFor();
      await page.locator('.badge').getByText('allow').waitFor();
      await hand.choose(page.getByLabel('Agent'), 'files');
      await hand.type(page.getByLabel('Capability'), 'read');
      await hand.use(button(page, 'Simulate'));
      await page.getByText('the caller does not see the tool').waitFor();
      await page.locator('.badge').getByText('deny').waitFor();
    });

    it('ends the open page of a key that is revoked', async () => {
      const name = `guest-${hand.name}`;
      await hand.goTo(page, 'People and keys');
      await hand.use(button(page, 'Create a key'));
      await hand.type(page.getByLabel('Name of the key'), name);
      await hand.use(button(page, 'Create'));
      const secret = await page.getByRole('region', { name: 'The key' }).innerText();
      await hand.use(button(page, 'I have copied it'));

      const guest = await signedIn(secret.trim());
      await hand.use(button(page, `Revoke ${name}`));
      await hand.use(page.getByRole('dialog').getByRole('button', { name: 'Revoke' }));
      await guest.getByText('Your session ended.').waitFor();
      await page.getByText(`The key ${name} is revoked.`).waitFor();
    });

    it('shows words of a hostile agent as words', async () => {
      await hand.goTo(page, 'Agents');
      await hand.openRow(page.getByRole('link', { name: 'hostile' }));
      await page.getByRole('heading', { name: 'hostile', level: 1 }).waitFor();
      await page.getByText('<img src=x onerror=').first().waitFor();
      await hand.use(page.getByRole('link', { name: 'Try', exact: true }).last());
      await hand.type(page.getByLabel('task', { exact: false }).last(), 'x');
      await hand.use(button(page, 'Run'));
      const answer = page.getByLabel('Answer', { exact: true });
      await answer.getByText('<script>globalThis.hacked=2</script>').waitFor();
      const text = await answer.innerText();
      expect(text).not.toContain('\u001b');
      expect(text).not.toContain('\u202e');
      expect(text).toContain(HOSTILE.slice(0, 40));
      expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
      expect(await page.locator('main :is(img, script, svg[onload])').count()).toBe(0);
    });

    it('shows a narrow key its own alone', async () => {
      const page = await signedIn(NARROW_KEY);
      await hand.goTo(page, 'Agents');
      await page.getByRole('table', { name: 'Agents' }).waitFor();
      expect(await page.getByRole('link', { name: 'echo' }).count()).toBe(1);
      expect(await page.getByText('hostile').count()).toBe(0);
      expect(await page.getByRole('link', { name: 'Add an agent' }).count()).toBe(0);
      await hand.goTo(page, 'Jobs');
      await page.getByText('You see your own jobs.').waitFor();
      expect(await page.getByRole('link', { name: /asker/ }).count()).toBe(0);
      await hand.goTo(page, 'People and keys');
      await page.getByText('narrow', { exact: true }).first().waitFor();
      expect(await page.getByRole('button', { name: /Revoke|Create/ }).count()).toBe(0);
      await page.goto(`${world.origin}/console/#/agents/files`);
      await page.getByText('There is no such agent, or you may not use it.').waitFor();
    });
  });
});
