import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ManualClock } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import type { YamlRegistry } from '../src/index.ts';
import { createWorld, entryOf, idsOf } from './fixtures/world.ts';

const BROKEN = `${entryOf('new')}- agent_id: half\n  endpoint: {transport: ht`;

const untilIds = (registry: YamlRegistry, ids: string[]) =>
  expect.poll(() => idsOf(registry), { timeout: 10_000 }).toEqual(ids);
const untilOk = (registry: YamlRegistry, ok: boolean) =>
  expect.poll(() => registry.status().ok, { timeout: 10_000 }).toBe(ok);

describe('a registry whose file changes', () => {
  it('[G17] sees the file written anew, without a restart, and tells who changed', async () => {
    await using world = await createWorld(entryOf('a') + entryOf('b') + entryOf('c'));
    const registry = await world.open();
    const changes: unknown[] = [];
    registry.watch((change) => changes.push(change));
    await world.write(entryOf('a') + entryOf('b', 'second') + entryOf('d'));
    await untilIds(registry, ['a', 'b', 'd']);
    expect(registry.get('b')?.manifest.tags).toEqual(['second']);
    expect(changes).toEqual([{ kind: 'agents', agentIds: ['b', 'c', 'd'] }]);
  });

  it('[G17] sees a file that an editor put in its place', async () => {
    await using world = await createWorld(entryOf('a'));
    const registry = await world.open();
    for (const id of ['b', 'c']) {
      await writeFile(`${world.path}.new`, entryOf(id));
      await rename(`${world.path}.new`, world.path);
      await untilIds(registry, [id]);
    }
  });

  it('[G17] sees a file that was taken away first and came back', async () => {
    await using world = await createWorld(entryOf('a'));
    const registry = await world.open();
    await rm(world.path);
    await untilOk(registry, false);
    expect(registry.status().message).toBe('agents.yaml no such file');
    expect(idsOf(registry)).toEqual(['a']);
    await world.write(entryOf('b'));
    await untilIds(registry, ['b']);
    expect(registry.status().ok).toBe(true);
  });

  it('[G17] sees the links of a Kubernetes ConfigMap change', async () => {
    await using world = await createWorld();
    const publish = async (version: string, text: string) => {
      await mkdir(join(world.folder, version));
      await writeFile(join(world.folder, version, 'agents.yaml'), text);
      await symlink(version, join(world.folder, '..data_tmp'));
      await rename(join(world.folder, '..data_tmp'), join(world.folder, '..data'));
    };
    await publish('..2026_1', entryOf('a'));
    await symlink('..data/agents.yaml', world.path);
    const registry = await world.open();
    expect(idsOf(registry)).toEqual(['a']);
    await publish('..2026_2', entryOf('b'));
    await untilIds(registry, ['b']);
  });

  it('keeps the agents it has while the file is half written, and says so', async () => {
    await using world = await createWorld(entryOf('a') + entryOf('b'));
    const clock = new ManualClock(Date.UTC(2026, 10, 15));
    const registry = await world.open({ clock });
    clock.advance(60_000);
    await world.write(BROKEN);
    await untilOk(registry, false);
    expect(idsOf(registry)).toEqual(['a', 'b']);
    expect(registry.status()).toMatchObject({ agents: 2, as_of: '2026-11-15T00:00:00.000Z' });
    expect(registry.status().message).toMatch(/^agents\.yaml:6:/);
    const [logged] = world.lines.filter(({ level }) => level === 'error');
    expect(logged?.fields.problems).toMatchObject([expect.stringMatching(/^agents\.yaml:6:/)]);

    await world.write(entryOf('c'));
    await untilIds(registry, ['c']);
    expect(registry.status()).toEqual({
      kind: 'yaml',
      ok: true,
      agents: 1,
      as_of: '2026-11-15T00:01:00.000Z',
    });
  });

  it.each([
    ['an empty file', ''],
    ['a file of comments', '# soon\n'],
    ['a map', 'agents: []\n'],
    ['an unknown key', `${entryOf('b')}  colour: blue\n`],
    ['an agent twice', entryOf('b') + entryOf('b')],
    ['an agent with our own name', entryOf('fabric')],
    ['text that is no UTF-8', Buffer.from([0xff, 0xfe, 0x00])],
  ])('applies nothing of %s', async (_, content) => {
    await using world = await createWorld(entryOf('a'));
    const registry = await world.open();
    await writeFile(world.path, content);
    expect(await registry.reload()).toEqual({ ok: false, changed: [] });
    expect(idsOf(registry)).toEqual(['a']);
    expect(registry.status().ok).toBe(false);
  });

  it('reads the file at once when it is told to', async () => {
    await using world = await createWorld(entryOf('a'));
    const registry = await world.open();
    await world.write(entryOf('a') + entryOf('b'));
    expect(await registry.reload()).toEqual({ ok: true, changed: ['b'] });
    expect(await registry.reload()).toEqual({ ok: true, changed: [] });
  });

  it('keeps the health of agents that stay, and forgets that of those that go', async () => {
    await using world = await createWorld(entryOf('a') + entryOf('b'));
    const registry = await world.open();
    const offline = { status: 'offline', checked_at: '2026-11-15T00:00:00.000Z' } as const;
    await registry.updateHealth('a', offline);
    await registry.updateHealth('b', offline);
    await world.write(entryOf('a', 'second'));
    await registry.reload();
    expect(registry.get('a')).toMatchObject({ health: offline, manifest: { tags: ['second'] } });
    await world.write(entryOf('a') + entryOf('b'));
    await registry.reload();
    expect(registry.get('b')?.health.status).toBe('unknown');
  });

  it('leaves the manifest of an unchanged agent the very same object', async () => {
    await using world = await createWorld(entryOf('a') + entryOf('b'));
    const registry = await world.open();
    const [a, b] = registry.list();
    await world.write(`# moved\n${entryOf('b', 'second')}${entryOf('a')}`);
    await registry.reload();
    expect(registry.get('a')?.manifest).toBe(a?.manifest);
    expect(registry.get('b')?.manifest).not.toBe(b?.manifest);
  });

  it('reads no more once it is closed', async () => {
    await using world = await createWorld(entryOf('a'));
    const closed = await world.open();
    const witness = await world.open();
    await closed.close();
    await world.write(entryOf('b'));
    await untilIds(witness, ['b']);
    expect(idsOf(closed)).toEqual(['a']);
  });
});
