import { type ManifestInput, manifestSchema } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { toManifestEntry } from '../src/agents-text.ts';

const endpoint = { transport: 'stdio', command: 'node' } as const;

describe('a manifest as people write it', () => {
  it.each<ManifestInput>([
    { agent_id: 'a', endpoint },
    { agent_id: 'a', endpoint, capabilities: [{ name: 'work' }] },
    {
      agent_id: 'a',
      node_id: 'node-1',
      version: '2.0.0',
      endpoint,
      capabilities: [{ name: 'work', streaming: true, modalities: ['text', 'image'], tool: 'w' }],
      trust_tier: 'org',
      tags: ['x'],
      fallbacks: ['b'],
    },
  ])('has nothing that it would have by default: %j', (written) => {
    expect(toManifestEntry(manifestSchema.parse(written))).toEqual(written);
  });

  it('keeps a false that is no default', () => {
    const written = { agent_id: 'a', endpoint, capabilities: [{ name: 'pay', idempotent: false }] };
    expect(toManifestEntry(manifestSchema.parse(written))).toEqual(written);
  });
});
