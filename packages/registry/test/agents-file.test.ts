import { spawnSync } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { changeAgentsFile } from '../src/index.ts';
import { createWorld, entryOf, idsOf } from './fixtures/world.ts';

const named = (agent_id: string) => exampleManifest({ agent_id });

describe('a change of agents.yaml', () => {
  it('adds, replaces and removes at once, and keeps a copy of what was there', async () => {
    const before = `# ours\n${entryOf('a')}${entryOf('b')}`;
    await using world = await createWorld(before);
    const backup = join(world.folder, 'agents.yaml.bak');
    const change = { put: [named('b'), named('c')], remove: [{ agentId: 'a' }] };
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
    expect((await stat(world.path)).mode & 0o777).toBe(0o600);
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

describe('the options of an endpoint', () => {
  const optionSchemas = { mcp: z.strictObject({ cwd: z.string().optional() }) };
  const withOptions = (endpoint: string) => `- agent_id: a\n  endpoint:\n${endpoint}\n`;
  const WRONG = withOptions('    transport: stdio\n    command: sh\n    options:\n      cdw: /');

  it('are checked by the schema of their protocol, with line and fix', async () => {
    await using world = await createWorld(WRONG);
    await expect(world.open({ optionSchemas })).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: {
        problems: [
          {
            file: 'agents.yaml',
            line: 6,
            key: '[0].endpoint.options.cdw',
            fix: expect.stringContaining('cwd'),
          },
        ],
      },
    });
  });

  it.each([
    [
      'a package',
      '    { transport: http, uri: "http://a", protocol: my-own, options: { any: 1 } }',
    ],
    ['no adapter', '    { transport: process, command: sh, options: { any: 1 } }'],
    ['none', '    { transport: stdio, command: sh }'],
  ])('are not checked for a protocol of %s', async (_, endpoint) => {
    await using world = await createWorld(withOptions(endpoint));
    expect(idsOf(await world.open({ optionSchemas }))).toEqual(['a']);
  });

  it('leave the agents loaded before when they become wrong', async () => {
    await using world = await createWorld(entryOf('b'));
    const registry = await world.open({ optionSchemas });
    await world.write(WRONG);
    expect(await registry.reload()).toEqual({ ok: false, changed: [] });
    expect(idsOf(registry)).toEqual(['b']);
  });

  it('are refused when an agent is registered', async () => {
    await using world = await createWorld('[]\n');
    const registry = await world.open({ optionSchemas });
    const endpoint = { transport: 'stdio' as const, command: 'sh', options: { cdw: '/' } };
    await expect(registry.register(exampleManifest({ endpoint }))).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('endpoint.options.cdw'),
      details: { reason: 'unfit_for_file', fix: expect.stringContaining('cwd') },
    });
    expect(await world.read()).toBe('[]\n');
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
