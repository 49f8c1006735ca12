import { Secret } from '@starloom/config';
import { FabricError } from '@starloom/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clip } from '../../src/observe/log-lines.ts';
import { REDACTED, redactFields, redactText, toErrorFields } from '../../src/observe/redact.ts';

const PLANTED = 'hunter2-planted';
const SECRET_NAMES = [
  'authorization',
  'Authorization',
  'Proxy-Authorization',
  'cookie',
  'set-cookie',
  'X-Agent-Passport',
  'x-agent-mandate',
  'token',
  'access_token',
  'refreshToken',
  'secret',
  'client_secret',
  'password',
  'api_key',
  'apiKey',
  'X-API-Key',
  'key',
];

/** Something with the planted secret below a name that gives it away, at some depth. */
const planted = fc.letrec((again) => ({
  deeper: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc
      .record({ leaf: fc.string() })
      .chain((rest) =>
        fc.constantFrom(...SECRET_NAMES).map((name) => ({ ...rest, [name]: PLANTED })),
      ),
    fc.constantFrom(...SECRET_NAMES).map((name) => ({ [name]: { nested: [PLANTED] } })),
    fc.constantFrom(...SECRET_NAMES).map((name) => [name, PLANTED]),
    fc.record({ headers: again('deeper') }),
    fc.record({ args: again('deeper'), other: fc.integer() }),
    fc.tuple(fc.integer(), again('deeper')),
    again('deeper').map((details) => new FabricError('BAD_INPUT', 'bad', { details: { details } })),
    again('deeper').map((value) => new Map([['entry', value]])),
  ),
}));

describe('redaction', () => {
  it('hides what stands under the name of a credential, however deep it is', () => {
    fc.assert(
      fc.property(planted.deeper, (value) => {
        expect(JSON.stringify(redactFields({ value }))).not.toContain(PLANTED);
      }),
    );
  });

  it('keeps everything else as it is', () => {
    const fields = {
      agent_id: 'percy',
      key_id: 'laptop',
      input_tokens: 12,
      ok: true,
      nothing: null,
      deep: { list: [1, 'two', { three: 3 }] },
    };
    expect(redactFields(fields)).toEqual(fields);
  });

  it('shows a Secret as its reference', () => {
    const fields = redactFields({ otlp: new Secret('env:COLLECTOR', PLANTED) });
    expect(fields).toEqual({ otlp: '[secret env:COLLECTOR]' });
  });

  it.each([
    ['a bearer header', `sent Authorization: Bearer ${PLANTED}`],
    ['a WebSocket subprotocol', `mcp, bearer.${PLANTED}`],
    ['a basic header', 'Basic aHVudGVyMi1wbGFudGVk'],
    ['an address with a password', `https://user:${PLANTED}@collector/v1`],
    ['a query', `GET /agents?access_token=${PLANTED}&x=1`],
    ['JSON in a text', `{"a": 1, "password": "${PLANTED}"}`],
    ['a token by its form', `got eyJhbGciOiJFZERTQSJ9.${PLANTED.replace('-', '')}.sig`],
  ])('hides a credential inside a text: %s', (_, text) => {
    const safe = redactText(text);
    expect(safe).toContain(REDACTED);
    expect(safe).not.toMatch(/hunter2|aHVudGVyMi1wbGFudGVk/);
  });

  it('leaves sentences about credentials alone', () => {
    const text = 'Basic authentication is off; send a bearer key, see the tokens page';
    expect(redactText(text)).toBe(text);
  });

  it('tells of an error its code, details and cause, and of a bug its stacks', () => {
    const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' });
    const expected = new FabricError('AGENT_OFFLINE', 'Percy is away', {
      details: { agent_id: 'percy', password: PLANTED },
      cause,
    });
    expect(toErrorFields(expected)).toEqual({
      code: 'AGENT_OFFLINE',
      message: 'Percy is away',
      details: { agent_id: 'percy', password: REDACTED },
      cause: { name: 'Error', code: 'ECONNREFUSED', message: 'connect refused' },
    });
    const bug = toErrorFields(FabricError.from(new TypeError('x is not a function')));
    expect(bug).toMatchObject({
      code: 'INTERNAL',
      stack: expect.stringContaining('FabricError'),
      cause: {
        name: 'TypeError',
        message: 'x is not a function',
        stack: expect.stringContaining('redact.test.ts'),
      },
    });
  });

  it('survives cycles, getters that throw, giants and odd values', () => {
    const cycle: Record<string, unknown> = { bytes: Buffer.alloc(9), big: 10n, call: () => 1 };
    cycle.self = cycle;
    cycle.list = [cycle, cycle];
    cycle.giant = 'x'.repeat(1_000_000);
    cycle.many = Array.from({ length: 100_000 }, (_, index) => index);
    const text = JSON.stringify(redactFields(cycle));
    expect(text.length).toBeLessThan(100_000);
    expect(JSON.parse(text)).toMatchObject({ bytes: '[9 bytes]', big: '10' });
    const trap = {
      get boom(): never {
        throw new Error('boom');
      },
    };
    expect(redactFields(trap)).toEqual({ unreadable: true });
    const error = new FabricError('INTERNAL', 'x', { details: trap });
    expect(toErrorFields(error)).toEqual({ unreadable: true });
    const polluting = JSON.parse('{"__proto__": {"polluted": true}, "kept": 1}');
    expect(redactFields(polluting)).toEqual({ kept: 1 });
    expect(clip('long name', 4)).toBe('long…');
  });
});
