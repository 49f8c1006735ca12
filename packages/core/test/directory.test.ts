import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AgentFilter, Directory, isTrustedAs, TRUST_TIERS } from '../src/index.ts';
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
    .map(exampleManifest),
  { selector: ({ agent_id }) => agent_id, maxLength: 12 },
);

const directoryOf = (list: Parameters<Directory['replaceAll']>[0]) => {
  const directory = new Directory();
  directory.replaceAll(list);
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
            ({ capabilities }) => !capability || capabilities.some((c) => c.name === capability),
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
          for (const { manifest } of found) {
            expect(manifest.capabilities.some(({ name }) => name === capability)).toBe(true);
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
    expect(directory.replaceAll([a, c])).toEqual(['b', 'c']);
    expect(directory.replaceAll([structuredClone(a), c])).toEqual([]);
    expect(heard).toEqual([{ kind: 'agents', agentIds: ['b', 'c'] }]);
    expect(directory.get('a')?.health.status).toBe('online');
    directory.remove('a');
    directory.upsert(a);
    expect(directory.get('a')?.health.status).toBe('unknown');
  });
});
