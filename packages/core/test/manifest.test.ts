import { describe, expect, it } from 'vitest';
import { agentsFileSchema, findCapability, manifestSchema, protocolOf } from '../src/index.ts';

const seed = {
  agent_id: 'percy',
  endpoint: { transport: 'http', uri: 'https://node-1.internal/agents/percy' },
  capabilities: [{ name: 'reason', streaming: true, modalities: ['text'] }],
  trust_tier: 'org',
  tags: ['planner', 'dev'],
};

const withTls = (tls: object) => ({ transport: 'http', uri: 'https://a/', tls });

describe('manifest', () => {
  it('[G20] takes the example of the seed as it is and fills in the rest', () => {
    const manifest = manifestSchema.parse(seed);
    expect(manifest).toMatchObject({ ...seed, node_id: 'local', fallbacks: [] });
    expect(findCapability(manifest, 'reason')).toMatchObject({ streaming: true });
    expect(findCapability(manifest, 'toString')).toBeUndefined();
  });

  it('[G20] keeps every field a capability can have', () => {
    const capability = {
      name: 'fs:read',
      streaming: false,
      modalities: ['text', 'image'],
      description: 'Reads a file',
      input_schema: { type: 'object' },
      output_schema: { type: 'string' },
      timeout_ms: 5000,
      idempotent: true,
      reentrant: true,
      tool: 'read_file',
    };
    const manifest = {
      ...seed,
      node_id: 'node-1',
      version: '1.2.3',
      capabilities: [capability],
      fallbacks: ['percy-backup'],
    };
    expect(manifestSchema.parse(manifest)).toEqual(manifest);
  });

  it('[G30] takes fallback_on of an idempotent capability alone', () => {
    const capability = { name: 'reason', fallback_on: ['tool_error'] };
    const parse = (more: object) =>
      manifestSchema.safeParse({ ...seed, capabilities: [{ ...capability, ...more }] });
    expect(parse({ idempotent: true }).success).toBe(true);
    for (const more of [{}, { idempotent: false }]) {
      expect(parse(more).error?.issues).toMatchObject([
        {
          path: ['capabilities', 0, 'fallback_on'],
          message: expect.stringContaining('idempotent'),
        },
      ]);
    }
  });

  it('takes an agent nobody vouched for as public', () => {
    const { trust_tier: _, ...unset } = seed;
    expect(manifestSchema.parse(unset).trust_tier).toBe('public');
  });

  it.each([
    ['http', { uri: 'http://a/' }, 'mcp'],
    ['stdio', { command: 'a' }, 'mcp'],
    ['process', { command: 'a' }, 'local-process'],
    ['http', { uri: 'http://a/', protocol: 'http' }, 'http'],
    ['process', { command: 'x', protocol: 'process' }, 'local-process'],
  ] as const)('chooses the adapter for %s %j: %s', (transport, more, protocol) => {
    const { endpoint } = manifestSchema.parse({ ...seed, endpoint: { transport, ...more } });
    expect(protocolOf(endpoint)).toBe(protocol);
  });

  it.each([
    ['an id with capitals', { agent_id: 'Percy' }],
    ['an id that is too long', { agent_id: 'p'.repeat(32) }],
    ['a reserved id', { agent_id: 'fabric' }],
    ['a capability with a space', { capabilities: [{ name: 'a b' }] }],
    ['a capability twice', { capabilities: [{ name: 'a' }, { name: 'a' }] }],
    ['an unknown tier', { trust_tier: 'friends' }],
    ['an unknown key', { agentid: 'x' }],
    ['an http agent without uri', { endpoint: { transport: 'http' } }],
    ['a process without command', { endpoint: { transport: 'process', uri: 'http://a/' } }],
    ['a uri that is none', { endpoint: { transport: 'http', uri: 'percy' } }],
    [
      'a private key in the file',
      { endpoint: withTls({ certificate: 'file:c', key: '-----BEGIN' }) },
    ],
    ['a certificate without its key', { endpoint: withTls({ certificate: 'file:c' }) }],
  ])('refuses %s', (_, change) => {
    expect(manifestSchema.safeParse({ ...seed, ...change }).success).toBe(false);
  });

  it('refuses a list with the same agent twice and says where', () => {
    const parsed = agentsFileSchema.safeParse([seed, { ...seed }]);
    expect(parsed.error?.issues).toMatchObject([{ path: [1, 'agent_id'] }]);
  });
});
