import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runStarloom, scratch } from './run-starloom.ts';
import { startGateway } from './running-gateway.ts';

describe('starloom keys', () => {
  it('[G11] a key works at once, is replaced with an overlap, and is refused when revoked', async () => {
    await using gateway = await startGateway();
    const json = async (...words: string[]) => {
      const run = await gateway.run('keys', ...words, '--json');
      expect(run.stderr).toBe('');
      return JSON.parse(run.stdout);
    };
    const use = async (key: string) =>
      (await fetch(`${gateway.url}/mcp`, { headers: { authorization: `Bearer ${key}` } })).status;
    const created = await json('create', 'ci', '--scope', 'agent:echo', '--expires', '30d');
    expect(created).toMatchObject({ key_id: 'ci', principal: 'ci', tier: 'org', state: 'active' });
    expect(created.key).toMatch(/^slk_[\w-]{43}$/);
    await expect.poll(() => use(created.key)).not.toBe(401);
    const rotated = await json('rotate', 'ci', '--overlap', '1h');
    await expect.poll(() => use(rotated.key)).not.toBe(401);
    expect(await use(created.key)).not.toBe(401);
    const { keys } = await json('list');
    expect(keys).toMatchObject([
      { key_id: 'ci', state: 'replaced', replaced_by: 'ci.2' },
      { key_id: 'ci.2', state: 'active', scopes: ['agent:echo'] },
    ]);
    await json('revoke', 'ci');
    await expect.poll(() => use(created.key)).toBe(401);
    expect(await use(rotated.key)).not.toBe(401);
    const stored = await readFile(join(gateway.home, 'identity', 'keys.json'), 'utf8');
    for (const { key } of [created, rotated]) expect(stored).not.toContain(key);
  });

  it('prints the key alone to stdout, and refuses what is no scope, tier, time or key', async () => {
    await using place = await scratch({});
    const env = { STARLOOM_HOME: join(place.folder, 'home') };
    const run = (...words: string[]) => runStarloom(['keys', ...words], { cwd: place.folder, env });
    const created = await run('create', 'ci');
    expect(created.stdout).toMatch(/^slk_[\w-]{43}\n$/);
    expect(created.stderr).toContain('not shown again');
    expect((await run()).stdout).toMatch(/ci +active +ci +org +\* +never/);
    for (const words of [
      ['create', 'ci'],
      ['create', 'x', '--scope', 'agents:all'],
      ['create', 'x', '--tier', 'friend'],
      ['create', 'x', '--expires', 'soon'],
      ['create', '../x'],
      ['rotate', 'none'],
      ['revoke', 'none'],
    ]) {
      const { code, stdout } = await run(...words);
      expect([code === 2 || code === 64, stdout], words.join(' ')).toEqual([true, '']);
    }
  });
});
