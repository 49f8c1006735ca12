import { chmod, lstat, readdir, rename, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { createWorld, entryOf, idsOf } from './fixtures/world.ts';

const COMMENTED = `# our agents
# first the planner
- agent_id: percy   # the planner
  endpoint: {transport: http,   uri: "https://node-1.internal/agents/percy"}
  tags: [ planner, dev ]
  # more to come

# then the coder
- agent_id: coder
  endpoint:
      transport: process
      command: ./coder

# and nobody else
`;

describe('registering in a file', () => {
  it('[G17] adds an entry and leaves every other line as it was', async () => {
    await using world = await createWorld(COMMENTED);
    const registry = await world.open();
    await registry.register(exampleManifest({ agent_id: 'third', tags: ['x', 'y'] }));
    const text = await world.read();
    const [before = '', after = ''] = COMMENTED.split('\n# and nobody else');
    expect(text.startsWith(before)).toBe(true);
    expect(text.endsWith(`\n# and nobody else${after}`)).toBe(true);
    expect(text).toContain('\n- agent_id: third\n');
    expect(text).toContain('\n  tags: [x, y]\n');
    expect(idsOf(registry)).toEqual(['coder', 'percy', 'third']);
  });

  it('replaces an entry where it stands and leaves the comments around it', async () => {
    await using world = await createWorld(COMMENTED);
    const registry = await world.open();
    await registry.register(exampleManifest({ agent_id: 'percy', tags: ['changed'] }));
    const text = await world.read();
    expect(text).toMatch(/^# our agents\n# first the planner\n- agent_id: percy\n/);
    expect(text.endsWith(COMMENTED.slice(COMMENTED.indexOf('  # more to come')))).toBe(true);
    expect((await world.open()).get('percy')?.manifest.tags).toEqual(['changed']);
  });

  it('tells watchers once, although the file changed too', async () => {
    await using world = await createWorld(entryOf('a'));
    const registry = await world.open();
    const changes: unknown[] = [];
    registry.watch(({ agentIds }) => changes.push(agentIds));
    await registry.register(exampleManifest({ agent_id: 'b' }));
    await world.write((await world.read()) + entryOf('c'));
    await expect.poll(() => idsOf(registry), { timeout: 10_000 }).toEqual(['a', 'b', 'c']);
    expect(changes).toEqual([['b'], ['c']]);
  });

  it('loses none of many that register at once', async () => {
    await using world = await createWorld('[]\n');
    const registry = await world.open();
    const ids = Array.from({ length: 25 }, (_, index) => `agent-${String(index).padStart(2, '0')}`);
    await Promise.all(ids.map((agent_id) => registry.register(exampleManifest({ agent_id }))));
    expect(idsOf(registry)).toEqual(ids);
    expect(idsOf(await world.open())).toEqual(ids);
  });

  it('reads what an editor wrote meanwhile before it writes', async () => {
    await using world = await createWorld(entryOf('a'));
    const registry = await world.open();
    await world.write(entryOf('a') + entryOf('by-hand'));
    await registry.register(exampleManifest({ agent_id: 'b' }));
    expect(idsOf(registry)).toEqual(['a', 'b', 'by-hand']);
  });

  it('keeps the mode of the file and leaves nothing beside it', async () => {
    await using world = await createWorld('[]\n');
    await chmod(world.path, 0o640);
    await (await world.open()).register(exampleManifest());
    expect((await stat(world.path)).mode & 0o777).toBe(0o640);
    expect(await readdir(world.folder)).toEqual(['agents.yaml']);
  });

  it('writes through a link and leaves the link', async () => {
    await using world = await createWorld('[]\n');
    const target = join(world.folder, 'elsewhere.yaml');
    await rename(world.path, target);
    await symlink('elsewhere.yaml', world.path);
    await (await world.open()).register(exampleManifest());
    expect((await lstat(world.path)).isSymbolicLink()).toBe(true);
    expect((await lstat(target)).isSymbolicLink()).toBe(false);
    expect(await world.read()).toContain('agent_id: subject');
  });

  it('writes nothing into a file that has problems', async () => {
    await using world = await createWorld(entryOf('a'));
    const registry = await world.open();
    const broken = `${entryOf('a')}- agent_id: [`;
    await world.write(broken);
    await expect(registry.register(exampleManifest())).rejects.toMatchObject({
      code: 'INTERNAL',
      details: { reason: 'registry_broken', problems: [{ file: 'agents.yaml', line: 5 }] },
    });
    expect(await world.read()).toBe(broken);
    expect(idsOf(registry)).toEqual(['a']);
    await world.write(entryOf('a'));
    await registry.register(exampleManifest({ agent_id: 'b' }));
    expect(idsOf(registry)).toEqual(['a', 'b']);
  });

  it('writes nothing that could not be read again', async () => {
    const text = `- agent_id: b
  endpoint: {transport: http, uri: &address 'http://b.example'}
- agent_id: c
  endpoint: {transport: http, uri: *address}
`;
    await using world = await createWorld(text);
    const registry = await world.open();
    await expect(registry.register(exampleManifest({ agent_id: 'b' }))).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'unfit_for_file', problems: [{ message: 'an alias to nothing' }] },
    });
    expect(await world.read()).toBe(text);
    expect(await readdir(world.folder)).toEqual(['agents.yaml']);
    expect(idsOf(registry)).toEqual(['b', 'c']);
  });

  it('says so when the folder cannot be written, and goes on serving', async () => {
    await using world = await createWorld(entryOf('a'));
    const registry = await world.open();
    await using _ = await withoutWriteAccess(world.folder);
    await expect(registry.register(exampleManifest({ agent_id: 'b' }))).rejects.toMatchObject({
      code: 'INTERNAL',
      details: { reason: 'registry_unwritable', cause: 'EACCES', fix: expect.any(String) },
    });
    expect(idsOf(registry)).toEqual(['a']);
  });
});

/** Also for the super-user, who is not held back by the mode of a folder. */
async function withoutWriteAccess(folder: string): Promise<AsyncDisposable> {
  await chmod(folder, 0o555);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  return {
    async [Symbol.asyncDispose]() {
      if (isRoot) process.seteuid?.(0);
      await chmod(folder, 0o755);
    },
  };
}
