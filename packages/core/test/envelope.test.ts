import { describe, expect, it } from 'vitest';
import { AUTH_MODES, createTrace, parseEnvelope, RESPONSE_FORMATS } from '../src/index.ts';

const minimal = {
  trace: createTrace(),
  auth: { mode: 'psk', principal_id: 'client-123' },
  target: { agent_id: 'percy', capability: 'reason' },
  input: { task: 'Analyze this data' },
  response: { stream: true },
  hop: {},
};

describe('envelope', () => {
  it('has every field of the seed, with its defaults', () => {
    const envelope = parseEnvelope(minimal);
    expect(envelope).toMatchObject({
      auth: {
        mode: 'psk',
        principal_id: 'client-123',
        agent_passport_id: null,
        signature: null,
        key_id: null,
        delegate_id: null,
        mandate_id: null,
        cog_id: null,
        cap: [],
        scp: [],
      },
      target: { agent_id: 'percy', capability: 'reason', timeout_ms: 60_000 },
      input: { task: 'Analyze this data', context: {}, attachments: [] },
      response: { stream: true, format: 'text' },
      hop: { depth: 1, chain: [] },
    });
    expect(parseEnvelope(JSON.parse(JSON.stringify(envelope)))).toEqual(envelope);
  });

  it('knows the modes and formats of the contracts', () => {
    expect(AUTH_MODES).toEqual(['psk', 'passport', 'mtls', 'oauth', 'none']);
    expect(RESPONSE_FORMATS).toEqual(['text', 'json', 'toolcalls']);
  });

  it.each([
    ['no trace', { trace: undefined }],
    ['an unknown auth mode', { auth: { mode: 'magic' } }],
    ['an unknown field', { extra: 1 }],
    ['a timeout of 0', { target: { agent_id: 'percy', capability: 'reason', timeout_ms: 0 } }],
    ['a depth of 1.5', { hop: { depth: 1.5 } }],
    ['an agent id that is none', { target: { agent_id: '../x', capability: 'reason' } }],
  ])('refuses %s', (_, change) => {
    expect(() => parseEnvelope({ ...minimal, ...change })).toThrow();
  });
});
