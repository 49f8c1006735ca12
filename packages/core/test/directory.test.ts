import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AgentFilter,
  Directory,
  isTrustedAs,
  type Manifest,
  TRUST_TIERS,
  toInstance,
} from '../src/index.ts';
import { exampleManifest } from '../src/testing/index.ts';

const word = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const manifests = fc.uniqueArray(
  fc
    .record({
      agent_id: fc.stringMatching(/^[a-z]{1,3}$/),
      trust_tier: fc.constantFrom(...TRUST_TIERS),
      tags: fc.array(word, { maxLength: 3 }),
      fallbacks: fc.array(word, { maxLength: 3 }),
      capabilities: fc
        .uniqueArray(word, { maxLength: 3 })
        .map((names) => names.map((name) => ({ name }))),
    })
    .map((change) => {
      const fallbacks = change.fallbacks.filter((id) => id !== change.agent_id);
      return exampleManifest({ ...change, fallbacks });
    }),
  { selector: ({ agent_id }) => agent_id, maxLength: 12 },
);

const directoryOf = (list: readonly Manifest[]) => {
  const directory = new Directory();
  directory.replaceAll(list.map((manifest) => toInstance(manifest)));
  return directory;
};

describe('directory', () => {
  it('finds through its indexes exactly what a look at every agent finds', () => {
    const filter: fc.Arbitrary<AgentFilter> = fc.record(
      { capability: word, tag: word, tier: fc.constantFrom(...TRUST_TIERS) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(manifests, filter, (list, { capability, tag, tier }) => {
        const expected = list
          .filter((manifest) => !tag || manifest.tags.includes(tag))
          .filter((manifest) => !tier || manifest.trust_tier === tier)
          .filter(
            ({ capabilities }) => !capability || capabilities?.some((c) => c.name === capability),
          )
          .map(({ agent_id }) => agent_id)
          .sort();
        const found = directoryOf(list).list({ capability, tag, tier });
        expect(found.map(({ manifest }) => manifest.agent_id)).toEqual(expected);
      }),
    );
  });

  it('never offers a peer as fallback that is trusted less, unless it is named', () => {
    fc.assert(
      fc.property(manifests, word, (list, capability) => {
        for (const primary of list) {
          const found = directoryOf(list).resolveFallbacks(primary.agent_id, capability);
          const ids = found.map(({ manifest }) => manifest.agent_id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids).not.toContain(primary.agent_id);
          for (const { manifest, capabilities } of found) {
            expect(capabilities.some(({ name }) => name === capability)).toBe(true);
            expect(
              primary.fallbacks.includes(manifest.agent_id) ||
                isTrustedAs(manifest.trust_tier, primary.trust_tier),
            ).toBe(true);
          }
        }
      }),
    );
  });

  it('says which agents a new set changes, and keeps the health of those that stay', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((agent_id) => exampleManifest({ agent_id }));
    if (!a || !b || !c) return expect.fail();
    const directory = directoryOf([a, b]);
    directory.setHealth('a', { status: 'online', checked_at: null });
    const heard: unknown[] = [];
    directory.watch((change) => heard.push(change));
    expect(directory.replaceAll([a, c].map((each) => toInstance(each)))).toEqual(['b', 'c']);
    expect(directory.replaceAll([structuredClone(a), c].map((each) => toInstance(each)))).toEqual(
      [],
    );
    expect(heard).toEqual([{ kind: 'agents', agentIds: ['b', 'c'] }]);
    expect(directory.get('a')?.health.status).toBe('online');
    directory.remove('a');
    directory.put(toInstance(a));
    expect(directory.get('a')?.health.status).toBe('unknown');
  });

  describe('peers', () => {
    const ids = (directory: Directory, agentId: string) =>
      directory.resolveFallbacks(agentId, 'work').map(({ manifest }) => manifest.agent_id);
    const work = (input_schema?: Record<string, unknown>) => ({
      capabilities: [{ name: 'work', ...(input_schema && { input_schema }) }],
    });
    const one = { type: 'object', properties: { path: { type: 'string' } } };

    it('are agents whose manifests declare the capability, not those found to offer it', () => {
      const directory = directoryOf([
        exampleManifest({ agent_id: 'a', capabilities: undefined }),
        exampleManifest({ agent_id: 'b', capabilities: undefined }),
        exampleManifest({ agent_id: 'c' }),
      ]);
      const found = exampleManifest().capabilities ?? [];
      directory.setCapabilities('a', found);
      directory.setCapabilities('b', found);
      expect(ids(directory, 'a')).toEqual([]);
      expect(ids(directory, 'c')).toEqual([]);
      expect(directory.findByCapability('work')).toHaveLength(3);
    });

    it('have equal schemas where both have them', () => {
      const directory = directoryOf([
        exampleManifest({ agent_id: 'a', ...work(one) }),
        exampleManifest({ agent_id: 'b', ...work({ properties: one.properties, type: 'object' }) }),
        exampleManifest({ agent_id: 'c', ...work({ type: 'object' }) }),
        exampleManifest({ agent_id: 'd', ...work() }),
      ]);
      expect(ids(directory, 'a')).toEqual(['b', 'd']);
    });

    it.each([
      ['none', []],
      ['named', ['c']],
      ['peers', ['c', 'b']],
    ] as const)('are narrowed by fallback: %s', (fallback, expected) => {
      const others = [exampleManifest({ agent_id: 'b' }), exampleManifest({ agent_id: 'c' })];
      const byAgent = exampleManifest({ agent_id: 'a', fallbacks: ['c'], fallback });
      const capabilities = [{ name: 'work', fallback }];
      const byCapability = exampleManifest({ agent_id: 'a', fallbacks: ['c'], capabilities });
      expect(ids(directoryOf([byAgent, ...others]), 'a')).toEqual(expected);
      expect(ids(directoryOf([byCapability, ...others]), 'a')).toEqual(expected);
    });
  });

  it('forgets what was discovered when the manifest changes', () => {
    const directory = directoryOf([exampleManifest({ capabilities: undefined })]);
    directory.setCapabilities('subject', [
      { name: 'x', streaming: false, modalities: [], reentrant: false },
    ]);
    expect(directory.get('subject')?.capabilities).toHaveLength(1);
    directory.put(toInstance(exampleManifest({ capabilities: undefined, version: '2.0.0' })));
    expect(directory.get('subject')?.capabilities).toEqual([]);
  });
});
