import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { openRegistry } from '../src/index.ts';
import { createWorld, entryOf } from './fixtures/world.ts';

/** A backend as somebody else would write it: one fixed agent, in plain JavaScript. */
const BACKEND = `
const records = new Map();
export async function openRegistry(options, { log, folder }) {
  log.info({ folder }, 'opened by a package');
  for (const manifest of options.agents) {
    records.set(manifest.agent_id, { manifest, health: { status: 'unknown', checked_at: null } });
  }
  const all = () => [...records.values()];
  return {
    list: all,
    get: (id) => records.get(id),
    findByCapability: (name) =>
      all().filter(({ manifest }) => manifest.capabilities.some((one) => one.name === name)),
    resolveFallbacks: () => [],
    register: async () => {},
    updateHealth: async () => {},
    updateCapabilities: () => {},
    watch: () => () => {},
    status: () => ({ kind: 'acme', ok: true, agents: records.size, as_of: '2026-11-15T00:00:00Z' }),
    close: async () => {},
  };
}
`;

const install = async (folder: string, name: string, source: string, fields: object = {}) => {
  const home = join(folder, 'node_modules', name);
  await mkdir(home, { recursive: true });
  const exports = { '.': { import: './backend.js' } };
  const manifest = { name, version: '1.0.0', type: 'module', exports, ...fields };
  await writeFile(join(home, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(home, 'backend.js'), source);
};

describe('opening a registry', () => {
  it('opens a file, found from the folder of the configuration', async () => {
    await using world = await createWorld(entryOf('a'));
    const config = { kind: 'yaml', path: './agents.yaml' } as const;
    const registry = await openRegistry(config, world);
    expect(registry.get('a')?.manifest.agent_id).toBe('a');
    expect(await registry.reload?.()).toEqual({ ok: true, changed: [] });
    await registry.close();
  });

  it('[G37] opens a backend from another npm package by its name', async () => {
    await using world = await createWorld();
    await install(world.folder, '@acme/registry', BACKEND);
    const options = { agents: [exampleManifest({ agent_id: 'far' })] };
    const config = { kind: 'package', package: '@acme/registry', options } as const;
    const registry = await openRegistry(config, world);
    expect(registry.findByCapability('work').map(({ manifest }) => manifest.agent_id)).toEqual([
      'far',
    ]);
    expect(registry.status()).toMatchObject({ kind: 'acme', agents: 1 });
    expect(world.lines).toEqual([
      { level: 'info', fields: { folder: world.folder }, message: 'opened by a package' },
    ]);
  });

  it('[G37] finds a package in a folder above the configuration, as Node does', async () => {
    await using world = await createWorld();
    await install(world.folder, 'plain-registry', BACKEND, {
      exports: undefined,
      main: 'backend.js',
    });
    const folder = join(world.folder, 'deploy', 'eu');
    await mkdir(folder, { recursive: true });
    const config = { kind: 'package', package: 'plain-registry', options: { agents: [] } } as const;
    const registry = await openRegistry(config, { log: silentLog, folder });
    expect(registry.status().kind).toBe('acme');
  });

  it.each([
    ['is not there', undefined, 'cannot be found'],
    ['does not load', 'throw new Error("no licence")', 'cannot be loaded'],
    ['needs another that is not there', 'import "not-there-either"', 'cannot be loaded'],
    ['fails to open', 'export const openRegistry = () => { throw 1 }', 'cannot be opened'],
    ['is no backend', 'export const openRegistry = 1', 'does not export openRegistry'],
    ['opens something else', 'export const openRegistry = () => ({ list() {} })', 'without get'],
  ])('refuses a package that %s', async (_, source, message) => {
    await using world = await createWorld();
    if (source !== undefined) await install(world.folder, 'wrong', source);
    const opening = openRegistry({ kind: 'package', package: 'wrong' }, world);
    await expect(opening).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining(message),
      details: { reason: 'package', package: 'wrong', fix: expect.any(String) },
    });
  });

  it('says that etcd is not available, and what is', async () => {
    await using world = await createWorld();
    await expect(openRegistry({ kind: 'etcd' }, world)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'not_available', available: ['yaml', 'postgres', 'package'] },
    });
  });
});
