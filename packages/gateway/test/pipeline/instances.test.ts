import { type AgentRecord, MemoryRegistry } from '@starloom/core';
import { exampleManifest, ManualClock } from '@starloom/core/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Breakers } from '../../src/pipeline/breakers.ts';
import { Instances } from '../../src/pipeline/instances.ts';

const on = (node_id: string, change: Parameters<typeof exampleManifest>[0] = {}) =>
  exampleManifest({ node_id, ...change });

describe('the instances of an agent', () => {
  let clock: ManualClock;
  let breakers: Breakers;
  beforeEach(() => {
    clock = new ManualClock();
    breakers = new Breakers({ clock });
  });

  const world = (
    manifests: ReturnType<typeof on>[],
    options: { nodeId?: string; region?: string; random?: () => number } = {},
  ) => {
    const registry = new MemoryRegistry(manifests, clock);
    const instances = new Instances({ clock, breakers, nodeId: 'elsewhere', ...options });
    const record = () => registry.get('subject') as AgentRecord;
    instances.note('subject', record());
    const nodes = () => instances.place(record()).map(({ instance }) => instance.manifest.node_id);
    return { registry, instances, record, nodes };
  };
  const at = (record: AgentRecord, node: string) => ({
    ...record,
    manifest:
      record.instances.find(({ manifest }) => manifest.node_id === node)?.manifest ??
      record.manifest,
  });

  it('[G36] are called on the own node first, then in the own region', () => {
    const manifests = [on('a'), on('b', { region: 'eu' }), on('c')];
    const { nodes } = world(manifests, { nodeId: 'c', region: 'eu' });
    for (let n = 0; n < 20; n += 1) expect(nodes()).toEqual(['c', 'b', 'a']);
  });

  it('[G36] are called last while they are offline, and not at all while they drain or are held', async () => {
    const { registry, instances, record, nodes } = world([
      on('a'),
      on('b'),
      on('c', { tags: ['old'] }),
      on('d'),
    ]);
    const offline = { status: 'offline', checked_at: null } as const;
    await registry.updateHealth('subject', offline, 'b');
    const placed = instances.place(record()).map(({ instance, availability }) => {
      return [instance.manifest.node_id, availability];
    });
    expect(nodes()).not.toContain('c');
    expect(placed.at(-1)).toEqual(['b', 'offline']);
    const by = { principal: 'x', isOperator: true };
    const own = await registry.registrar.register(on('e'), by, { leaseMs: 30_000 });
    await registry.registrar.drain(own, by);
    expect(instances.place(record()).at(-1)).toMatchObject({ availability: 'draining' });
  });

  it('[G36] each have a circuit, so that one that fails does not stop the others', () => {
    const { instances, record, nodes } = world([on('a'), on('b')]);
    const error = Object.assign(new Error(), {
      code: 'AGENT_OFFLINE',
      details: {},
      isAgentAnswer: false,
    });
    for (let n = 0; n < 5; n += 1) breakers.failed('subject@a', error as never);
    expect(nodes()).toEqual(['b', 'a']);
    expect(instances.place(record()).map(({ availability }) => availability)).toEqual([
      'ready',
      'open-circuit',
    ]);
    expect(instances.isReady(record())).toBe(true);
  });

  it('get a call where fewer are in flight and answers come faster', () => {
    const { instances, record, nodes } = world([on('a'), on('b')]);
    const busy = instances.begin(at(record(), 'a'));
    for (let n = 0; n < 20; n += 1) expect(nodes()[0]).toBe('b');
    instances.end(busy, 10);
    instances.end(instances.begin(at(record(), 'b')), 1_000);
    for (let n = 0; n < 20; n += 1) expect(nodes()[0]).toBe('a');
  });

  it('share calls by their weight, of any number of them', () => {
    const seeds = Array.from({ length: 1_000 }, (_, n) => (n * 0.618_033_988) % 1);
    let next = 0;
    const random = () => seeds[next++ % seeds.length] ?? 0;
    const manifests = [on('a', { weight: 300 }), on('b'), on('c'), on('d', { weight: 0 })];
    const { nodes } = world(manifests, { random });
    const first = Object.groupBy(
      Array.from({ length: 300 }, () => nodes()[0]),
      (node) => node ?? '',
    );
    expect(first.a?.length).toBeGreaterThan((first.b?.length ?? 0) + (first.c?.length ?? 0));
    expect(first.b?.length).toBeGreaterThan(0);
    expect(first.d).toBeUndefined();
  });

  it('start slowly when they join or recover', async () => {
    const { registry, instances, record } = world([on('a'), on('b')]);
    const placeOf = (node: string) =>
      instances.place(record()).find(({ instance }) => instance.manifest.node_id === node)?.place;
    expect(placeOf('a')).not.toContain('slow start');
    await registry.register(on('c'));
    instances.note('subject', record());
    expect(placeOf('c')).toContain('slow start at 10 %');
    clock.advance(15_000);
    expect(placeOf('c')).toContain('slow start at 50 %');
    clock.advance(15_000);
    expect(placeOf('c')).not.toContain('slow start');
    await registry.updateHealth('subject', { status: 'offline', checked_at: null }, 'a');
    instances.note('subject', record());
    await registry.updateHealth('subject', { status: 'online', checked_at: null }, 'a');
    instances.note('subject', record());
    expect(placeOf('a')).toContain('slow start');
    expect(placeOf('b')).not.toContain('slow start');
  });
});
