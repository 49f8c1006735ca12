import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runStarloom, scratch } from './run-starloom.ts';
import { startGateway } from './running-gateway.ts';

describe('starloom passport', () => {
  it('[G12] a passport in either form is taken by a gateway that runs, until it is revoked', async () => {
    await using gateway = await startGateway();
    const create = async (...words: string[]) => {
      const run = await gateway.run('passport', 'create', 'ada', ...words, '--json');
      expect(run.stderr).toBe('');
      return JSON.parse(run.stdout);
    };
    const status = async (passport: string) => {
      const headers = { 'x-agent-passport': passport };
      return (await fetch(`${gateway.url}/mcp`, { headers })).status;
    };
    const compact = await create('--delegate', 'desk', '--scope', 'agent:echo');
    const structured = await create('--scope', 'agent:echo', '--structured');
    expect(compact.claims).toMatchObject({ prn: 'ada', sub: 'desk', cap: ['echo/*'] });
    for (const { passport } of [compact, structured]) {
      expect(await status(passport)).not.toBe(401);
      const verified = await gateway.run('passport', 'verify', passport, '--json');
      expect(JSON.parse(verified.stdout)).toMatchObject({ valid: true, principal: 'ada' });
    }
    await gateway.run('passport', 'revoke', 'delegate', 'desk');
    await expect.poll(() => status(compact.passport)).toBe(401);
    expect(await status(structured.passport)).not.toBe(401);
    const refused = await gateway.run('passport', 'verify', compact.passport, '--json');
    expect([refused.code, JSON.parse(refused.stderr).error.details.reason]).toEqual([3, 'revoked']);
    const rotated = await gateway.run('keys', 'rotate', '--signing', '--at-once');
    expect(rotated.code).toBe(0);
    await expect.poll(() => status(structured.passport)).toBe(401);
  });

  it('shows what a passport says, and refuses wrong options', async () => {
    await using place = await scratch({});
    const env = { STARLOOM_HOME: join(place.folder, 'home') };
    const run = (...words: string[]) =>
      runStarloom(['passport', ...words], { cwd: place.folder, env });
    const { stdout } = await run('create', 'ada', '--scope', 'agent:echo', '--life', '8h');
    expect(stdout).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const shown = await run('show', stdout.trim());
    expect(JSON.parse(shown.stdout)).toMatchObject({
      header: { typ: 'passport+jwt' },
      claims: { prn: 'ada', slf: true },
    });
    for (const words of [
      ['create', 'ada'],
      ['create', 'ada', '--scope', 'everything'],
      ['create', 'ada', '--scope', '*', '--life', '30d'],
      ['show', 'nonsense'],
      ['revoke', 'everyone', 'x'],
    ]) {
      expect((await run(...words)).code, words.join(' ')).toBe(64);
    }
    expect((await run('verify', 'nonsense')).code).toBe(3);
  });
});
