import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentDescription,
  type Capability,
  capabilitySchema,
  FabricError,
  type Manifest,
  manifestSchema,
  silentLog,
} from '@starloom/core';
import { MemoryAdapter, MemoryRegistry } from '@starloom/core/testing';
import { Authoriser, LOCAL_PRINCIPAL } from '@starloom/identity';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AdapterPool } from '../src/adapter-pool.ts';
import { openDiscoveredFile } from '../src/discovered-file.ts';
import { Discovery } from '../src/discovery.ts';
import { answers, call, connect, openTestGateway } from './test-gateway.ts';

const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const offered: Capability[] = [
  capabilitySchema.parse({
    name: 'read_file',
    title: 'Read a file',
    description: 'Reads',
    input_schema: schema,
    annotations: { readOnlyHint: true },
  }),
  capabilitySchema.parse({ name: 'write_file', input_schema: schema }),
  capabilitySchema.parse({ name: 'list', input_schema: { type: 'object' } }),
];
const endpoint = { transport: 'http', uri: 'http://127.0.0.1:1/', protocol: 'memory' } as const;
const discovering = { capabilities: undefined };
const describes = (capabilities: readonly Capability[] = offered) => ({ capabilities });
const namesOf = (records: readonly { name: string }[] = []) => records.map(({ name }) => name);

describe('an agent without declared capabilities', () => {
  it('[G3] serves everything it offers, with its own titles, schemas and annotations', async () => {
    const files = { manifest: discovering, run: answers('x'), describe: async () => describes() };
    await using gateway = await openTestGateway({ files });
    await using client = await connect(gateway.url);
    const tools = async () => (await client.listTools()).tools;
    await expect.poll(async () => namesOf(await tools())).toContain('files.write_file');
    expect(await tools()).toContainEqual(
      expect.objectContaining({
        name: 'files.read_file',
        title: 'Read a file',
        description: 'Reads',
        inputSchema: schema,
        annotations: { readOnlyHint: true },
      }),
    );
    const { payload } = await call(client, 'fabric.agent.list', { capability: 'list' });
    expect(payload.agents).toMatchObject([{ agent_id: 'files' }]);
    const { result } = await call(client, 'files.read_file', { path: 'a' });
    expect(result.content).toEqual([{ type: 'text', text: 'x' }]);
  });

  it('[G3] is discovered by any of its instances, also when the first one is away', async () => {
    const on = (node_id: string) =>
      manifestSchema.parse({ agent_id: 'files', node_id, endpoint, trust_tier: 'org' });
    const registry = new MemoryRegistry([on('a'), on('b')]);
    const away = new FabricError('AGENT_OFFLINE', 'not there');
    await using gateway = await openTestGateway(
      {},
      {
        registry,
        openAdapter: async (manifest) =>
          new MemoryAdapter(manifest, answers('x'), async () => {
            if (manifest.node_id === 'a') throw away;
            return describes();
          }),
      },
    );
    await expect
      .poll(() => namesOf([...(gateway.registry.get('files')?.capabilities ?? [])]))
      .toEqual(['read_file', 'write_file', 'list']);
  });

  it('serves only what include and exclude leave', async () => {
    const manifest = { ...discovering, tools: { include: ['*_file'], exclude: ['write*'] } };
    const files = { manifest, run: answers('x'), describe: async () => describes() };
    await using gateway = await openTestGateway({ files });
    await using client = await connect(gateway.url);
    await expect
      .poll(() => namesOf([...(gateway.registry.get('files')?.capabilities ?? [])]))
      .toEqual(['read_file']);
    const { payload } = await call(client, 'fabric.call', {
      agent_id: 'files',
      capability: 'write_file',
    });
    expect(payload.error.code).toBe('CAPABILITY_NOT_FOUND');
  });

  it('is waited for by a call that comes before its first answer', async () => {
    const ready = Promise.withResolvers<AgentDescription>();
    const slow = { manifest: discovering, run: answers('late'), describe: () => ready.promise };
    await using gateway = await openTestGateway({ slow });
    await using client = await connect(gateway.url);
    const calls = [
      call(client, 'slow.read_file', { path: 'a' }),
      call(client, 'slow_read_file', { path: 'a' }),
      call(client, 'fabric.call', {
        agent_id: 'slow',
        capability: 'read_file',
        arguments: { path: 'a' },
      }),
      call(client, 'fabric.call', { capability: 'read_file', arguments: { path: 'a' } }),
    ];
    const { tools } = await client.listTools();
    expect(namesOf(tools).filter((name) => name.startsWith('slow'))).toEqual([]);
    ready.resolve(describes());
    for (const { result } of await Promise.all(calls)) {
      expect(JSON.stringify(result.content)).toContain('late');
    }
  });

  it('is offline, with the reason, to a call when it was never reached', async () => {
    const upstream = { exit_code: 1, stderr: 'no such module' };
    const describe = async () => {
      throw new FabricError('AGENT_OFFLINE', 'The process ended', { details: { upstream } });
    };
    const dead = { manifest: discovering, run: answers('x'), describe };
    await using gateway = await openTestGateway({ dead });
    await using client = await connect(gateway.url);
    const { payload } = await call(client, 'fabric.call', { agent_id: 'dead', capability: 'x' });
    expect(payload.error).toMatchObject({
      code: 'AGENT_OFFLINE',
      details: { reason: 'not_discovered', upstream },
    });
    await expect(call(client, 'dead.x', {})).rejects.toMatchObject({ code: -32005 });
    const unnamed = await call(client, 'fabric.call', { capability: 'x' });
    expect(unnamed.payload.error.code).toBe('CAPABILITY_NOT_FOUND');
  });
});

describe('a call that comes before an agent has said what it offers', () => {
  const never = () => new Promise<AgentDescription>(() => {});

  function open(agents: Record<string, () => Promise<AgentDescription>>, patienceMs = 30_000) {
    const manifests = Object.keys(agents).map((agent_id) =>
      manifestSchema.parse({
        agent_id,
        endpoint,
        ...(agent_id === 'git' && { tools: { include: ['git_*'], exclude: ['git_push'] } }),
      }),
    );
    const registry = new MemoryRegistry(manifests);
    const adapters = new AdapterPool({
      open: async (own) => new MemoryAdapter(own, answers('x'), agents[own.agent_id]),
      log: silentLog,
    });
    const authoriser = new Authoriser();
    const options = { registry, authoriser, adapters, log: silentLog, patienceMs };
    const discovery = new Discovery(options);
    discovery.start();
    const { signal } = new AbortController();
    const awaits = (asked: object, scopes = ['*']) => {
      const caller = { principal: { ...LOCAL_PRINCIPAL, scopes }, signal };
      const waiting = discovery.awaitFor(asked, caller, 30_000);
      waiting?.catch(() => {});
      return waiting;
    };
    const close = async () => {
      discovery.close();
      await adapters.close();
    };
    return { awaits, [Symbol.asyncDispose]: close };
  }

  it('waits only where that agent might serve it', async () => {
    await using world = open({ git: never });
    const { awaits } = world;
    expect(awaits({ agent_id: 'nobody', capability: 'git_log' })).toBeUndefined();
    expect(awaits({ capability: 'read_file' })).toBeUndefined();
    expect(awaits({ capability: 'git_push' })).toBeUndefined();
    expect(awaits({ agent_id: 'git', capability: 'read_file' })).toBeUndefined();
    expect(awaits({ capability: 'git_log' }, ['agent:other'])).toBeUndefined();
    expect(awaits({ agent_id: 'git', capability: 'git_log' }, ['agent:other'])).toBeUndefined();
    expect(awaits({ capability: 'git_log' })).toBeInstanceOf(Promise);
    expect(awaits({ agent_id: 'git', capability: 'git_log' })).toBeInstanceOf(Promise);
    expect(awaits({ agent_id: 'git' })).toBeInstanceOf(Promise);
  });

  it('waits no longer than until one agent has it, and not for one that hangs', async () => {
    const ready = Promise.withResolvers<AgentDescription>();
    await using world = open({ stuck: never, files: () => ready.promise });
    const waiting = world.awaits({ capability: 'read_file' });
    expect(waiting).toBeInstanceOf(Promise);
    ready.resolve(describes());
    await waiting;
    expect(world.awaits({ capability: 'read_file' })).toBeUndefined();
  });

  it('is refused at once when the only agent that might serve it has hung for long', async () => {
    await using world = open({ stuck: never }, 1);
    await expect.poll(() => world.awaits({ capability: 'read_file' })).toBeUndefined();
    expect(world.awaits({ agent_id: 'stuck', capability: 'read_file' })).toBeInstanceOf(Promise);
  });

  it('is refused at once when the only agent that might serve it is offline', async () => {
    await using world = open({ dead: () => Promise.reject(new Error('gone')) });
    await expect.poll(() => world.awaits({ capability: 'read_file' })).toBeUndefined();
  });
});

describe('an agent with declared capabilities', () => {
  it('serves exactly those; one it lacks is a warning that names a near one', async () => {
    const lines: string[] = [];
    const manifest = { capabilities: [{ name: 'read_file' }, { name: 'lst' }] };
    const files = { manifest, run: answers('x'), describe: async () => describes() };
    await using gateway = await openTestGateway({ files }, { log: (line) => lines.push(line) });
    await using client = await connect(gateway.url);
    await expect.poll(() => lines.join('')).toContain('does not offer a declared capability');
    expect(lines.join('')).toContain('did you mean \\"list\\"');
    const { tools } = await client.listTools();
    expect(namesOf(tools).filter((name) => name.startsWith('files'))).toEqual(['files.read_file']);
    const { payload } = await call(client, 'fabric.agent.describe', { agent_id: 'files' });
    expect(payload.agent.missing).toEqual([{ name: 'lst', near: 'list' }]);
  });

  it('is not listed before its schemas are known, and is then', async () => {
    const ready = Promise.withResolvers<AgentDescription>();
    const manifest = { capabilities: [{ name: 'read_file' }] };
    const files = { manifest, run: answers('x'), describe: () => ready.promise };
    await using gateway = await openTestGateway({ files });
    await using client = await connect(gateway.url);
    let changes = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      changes += 1;
    });
    await client.listen({ toolsListChanged: true });
    expect(namesOf((await client.listTools()).tools)).not.toContain('files.read_file');
    ready.resolve(describes());
    await expect.poll(() => changes).toBeGreaterThan(0);
    const listed = async () =>
      (await client.listTools()).tools.find(({ name }) => name === 'files.read_file');
    await expect.poll(listed).toMatchObject({ inputSchema: schema });
  });
});

describe('names that look alike', () => {
  it('are reported once, those of agents and those of one agent', async () => {
    const lines: string[] = [];
    const twins = [offered[0], capabilitySchema.parse({ name: 'Read-File' })].flatMap(
      (one) => one ?? [],
    );
    const files = {
      manifest: discovering,
      run: answers('x'),
      describe: async () => describes(twins),
    };
    const other = { run: answers('x') };
    const agents = { files, fi1es: other, '1ock': other, fine: other };
    await using gateway = await openTestGateway(agents, { log: (line) => lines.push(line) });
    await expect.poll(() => lines.join('')).toContain('tools of the agent look alike');
    await gateway.registry.register(manifestSchema.parse({ agent_id: 'late', endpoint }));
    const alike = lines
      .filter((line) => line.includes('look alike'))
      .map((line) => JSON.parse(line).names);
    expect(alike).toEqual([
      ['1ock', 'lock'],
      ['fi1es', 'files'],
      ['read_file', 'Read-File'],
    ]);
  });
});

describe('what was discovered', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starloom-discovered-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const manifest = manifestSchema.parse({ agent_id: 'files', endpoint });

  async function open(describeAgent: () => Promise<AgentDescription>, change: Partial<Manifest>) {
    const store = await openDiscoveredFile(join(folder, 'discovered.json'), silentLog);
    const registry = new MemoryRegistry([{ ...manifest, ...change }]);
    const adapters = new AdapterPool({
      open: async (own) => new MemoryAdapter(own, answers('x'), describeAgent),
      log: silentLog,
    });
    const discovery = new Discovery({
      registry,
      authoriser: new Authoriser(),
      adapters,
      log: silentLog,
      store,
    });
    discovery.start();
    const close = async () => {
      discovery.close();
      await adapters.close();
      await store.close();
    };
    return { registry, discovery, close };
  }
  const never = () => new Promise<AgentDescription>(() => {});

  it('survives a restart, and is asked for again', async () => {
    const first = await open(async () => describes(), {});
    await expect.poll(() => first.registry.get('files')?.capabilities).toHaveLength(3);
    await first.close();
    const second = await open(never, {});
    expect(namesOf([...(second.registry.get('files')?.capabilities ?? [])])).toEqual(
      namesOf(offered),
    );
    await second.close();
    const third = await open(async () => describes(offered.slice(0, 1)), {});
    await expect.poll(() => third.registry.get('files')?.capabilities).toHaveLength(1);
    await third.close();
  });

  it('is listed at once after a restart; an agent that is new is waited for', async () => {
    const listing = (discovery: Discovery) =>
      Promise.race([
        discovery.firstAnswers().then(() => 'listed'),
        new Promise((resolve) => setImmediate(resolve, 'waits')),
      ]);
    const silent = await open(never, {});
    expect(await listing(silent.discovery)).toBe('waits');
    await silent.close();
    const first = await open(async () => describes(), {});
    await expect.poll(() => first.registry.get('files')?.capabilities).toHaveLength(3);
    await first.close();
    const second = await open(never, {});
    expect(await listing(second.discovery)).toBe('listed');
    await second.close();
  });

  it('survives a change of the manifest that leaves the agent the same', async () => {
    const first = await open(async () => describes(), {});
    await expect.poll(() => first.registry.get('files')?.capabilities).toHaveLength(3);
    await first.close();
    const change = { tags: ['new'], tools: { exclude: ['write*'] } };
    const second = await open(never, change);
    const served = second.registry.get('files')?.capabilities ?? [];
    expect(namesOf([...served])).toEqual(['read_file', 'list']);
    await second.close();
  });

  it('does not count for another agent, nor when the file is damaged', async () => {
    const first = await open(async () => describes(), {});
    await expect.poll(() => first.registry.get('files')?.capabilities).toHaveLength(3);
    await first.close();
    const changed = await open(never, { version: '2.0.0' });
    expect(changed.registry.get('files')?.capabilities).toEqual([]);
    await changed.close();
    const elsewhere = await open(never, {
      endpoint: { ...manifest.endpoint, uri: 'http://[::1]/' },
    });
    expect(elsewhere.registry.get('files')?.capabilities).toEqual([]);
    await elsewhere.close();
    const file = join(folder, 'discovered.json');
    await writeFile(file, `${await readFile(file, 'utf8')}}`);
    const damaged = await open(never, {});
    expect(damaged.registry.get('files')?.capabilities).toEqual([]);
    await damaged.close();
  });
});

describe('an agent that says all the time that its list changed', () => {
  async function announce(refreshEveryMs: number, changes: number) {
    let asked = 0;
    const describeAgent = async () => {
      asked += 1;
      return describes();
    };
    const registry = new MemoryRegistry([manifestSchema.parse({ agent_id: 'files', endpoint })]);
    const open = async (own: Manifest) => new MemoryAdapter(own, answers('x'), describeAgent);
    const adapters = new AdapterPool({ open, log: silentLog });
    const common = { registry, adapters, authoriser: new Authoriser(), log: silentLog };
    const discovery = new Discovery({ ...common, refreshEveryMs });
    discovery.start();
    await expect.poll(() => registry.get('files')?.capabilities).toHaveLength(3);
    const refreshes: Promise<void>[] = [];
    for (let change = 0; change < changes; change += 1) {
      refreshes.push(discovery.refresh('files'));
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resume) => setImmediate(resume));
    }
    return {
      asked: () => asked,
      refreshes,
      async [Symbol.asyncDispose]() {
        discovery.close();
        await adapters.close();
      },
    };
  }

  it('is asked again once in a time', async () => {
    await using world = await announce(3_600_000, 20);
    expect(world.asked()).toBe(2);
  });

  it('is asked again after the last change', async () => {
    await using world = await announce(1, 3);
    await Promise.all(world.refreshes);
    expect(world.asked()).toBeGreaterThanOrEqual(3);
  });
});
