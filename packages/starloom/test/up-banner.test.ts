import { capabilitySchema } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { expect, it } from 'vitest';
import { banner } from '../src/commands/up.ts';
import { render } from '../src/terminal-text.ts';

it('what "starloom up" prints shows agents with what they offer, or that it is not known yet', () => {
  const health = { status: 'unknown', checked_at: '2026-11-15T00:00:00.000Z' } as const;
  const agent = (agent_id: string, names: readonly string[], description?: string) => ({
    manifest: exampleManifest({ agent_id, ...(description && { description }) }),
    capabilities: names.map((name) => capabilitySchema.parse({ name })),
    health,
    held: [],
    instances: [],
  });
  const agents = [
    agent('few', ['a', 'b'], 'Does this\nand that'),
    agent('many', ['a', 'b', 'c', 'd', 'e']),
    agent('slow', []),
  ];
  const place = { url: 'http://127.0.0.1:1', key: 'k', clientFile: 'client.json' };
  const text = render(banner({ ...place, samples: false, agents, columns: undefined }), false);
  expect(text).toContain(
    '\n  few   a, b: Does this and that\n  many  5: a, b, c, d, e\n  slow  (not reached yet)\n',
  );
});
