import { spawnSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { changeAgentsFile } from '../src/index.ts';
import { createWorld, entryOf, idsOf } from './fixtures/world.ts';

const named = (agent_id: string) => exampleManifest({ agent_id });

describe('a change of agents.yaml', () => {
  it('adds, replaces and removes at once, and keeps a copy of what was there', async () => {
    const before = `# ours\n${entryOf('a')}${entryOf('b')}`;
    await using world = await createWorld(before);
    const backup = join(world.folder, 'agents.yaml.bak');
    const change = { put: [named('b'), named('c')], remove: ['a'] };
    const after = await changeAgentsFile(world.path, change, { backup });
    expect(after.map(({ agent_id }) => agent_id)).toEqual(['b', 'c']);
    expect(idsOf(await world.open())).toEqual(['b', 'c']);
    expect(await world.read()).toMatch(/^# ours\n/);
    expect(await readFile(backup, 'utf8')).toBe(before);
  });

  it('creates the file where that is asked for, and else says that there is none', async () => {
    await using world = await createWorld();
    const change = { put: [named('a')] };
    await expect(changeAgentsFile(world.path, change)).rejects.toMatchObject({
      details: { reason: 'registry_broken' },
    });
    await changeAgentsFile(world.path, change, { create: true });
    expect(idsOf(await world.open())).toEqual(['a']);
  });

  it('loses none of many that are made at once', async () => {
    await using world = await createWorld('# ours\n[]\n');
    const ids = Array.from({ length: 12 }, (_, index) => `a${index}`);
    await Promise.all(ids.map((id) => changeAgentsFile(world.path, { put: [named(id)] })));
    expect(idsOf(await world.open()).sort()).toEqual(ids.sort());
    expect(await readdir(world.folder)).toEqual(['agents.yaml']);
  });

  it('does not wait for a process that is gone', async () => {
    await using world = await createWorld('[]\n');
    const { pid } = spawnSync(process.execPath, ['--version']);
    await writeFile(join(world.folder, '.agents.yaml.lock'), String(pid));
    await changeAgentsFile(world.path, { put: [named('a')] });
    expect(await readdir(world.folder)).toEqual(['agents.yaml']);
  });

  it('leaves nothing behind when it fails', async () => {
    await using world = await createWorld('- agent_id: 5\n');
    const backup = join(world.folder, 'backup');
    await expect(
      changeAgentsFile(world.path, { put: [named('a')] }, { backup, create: true }),
    ).rejects.toMatchObject({ details: { reason: 'registry_broken' } });
    expect(await readdir(world.folder)).toEqual(['agents.yaml']);
  });
});

describe('a registry with agents of its own', () => {
  const builtIn = [named('sample'), named('other')];

  it('serves those of the file beside them from the moment it appears', async () => {
    await using world = await createWorld();
    const registry = await world.open({ builtIn });
    expect(idsOf(registry)).toEqual(['other', 'sample']);
    await writeFile(world.path, entryOf('mine') + entryOf('other', 'mine'));
    await expect.poll(() => idsOf(registry)).toEqual(['mine', 'other', 'sample']);
    expect(registry.get('other')?.manifest.tags).toEqual(['mine']);
  });

  it('creates the file when an agent registers', async () => {
    await using world = await createWorld();
    const registry = await world.open({ builtIn });
    await registry.register(named('mine'));
    expect(idsOf(registry)).toEqual(['mine', 'other', 'sample']);
    expect(await world.read()).toMatch(/^- agent_id: mine\n/);
  });
});
