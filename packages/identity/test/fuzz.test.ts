// Whatever is sent as a credential: no crash, no hang, nobody let in, and nothing of it in the answer.

import { Buffer } from 'node:buffer';
import { FabricError } from '@starloom/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuthRequest, signStructuredPassport } from '../src/index.ts';
import { mintFor, openTokenWorld, type TokenWorld } from './support/token-world.ts';

const HEADERS = ['x-agent-passport', 'x-agent-mandate', 'authorization'] as const;
const RUNS = { numRuns: 400 };

describe('credentials from a fuzzer', () => {
  let world: TokenWorld;
  let valid: Record<'passport' | 'structured' | 'mandate', string>;

  beforeAll(async () => {
    world = await openTokenWorld();
    valid = {
      passport: await world.passport(),
      structured: signStructuredPassport(world.passportClaims() as never, world.keys),
      mandate: (await mintFor(world.identity, 'coder')).token,
    };
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** AUTH_DENIED is the only answer. */
  async function refused(request: AuthRequest, secret = ''): Promise<void> {
    const outcome = await Promise.resolve()
      .then(() => world.identity.authenticator.authenticate(request))
      .catch((error: unknown) => error);
    expect(FabricError.is(outcome)).toBe(true);
    const error = outcome as FabricError;
    expect(error.code).toBe('AUTH_DENIED');
    if (secret.length > 8) {
      expect(JSON.stringify([error.toPayload(null), error.message])).not.toContain(secret);
    }
  }
  const http = (headers: Record<string, string | string[]>, url = '/mcp'): AuthRequest => {
    return { transport: 'http', headers, url };
  };

  it('any text in any header is refused', async () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
      fc.json(),
      fc
        .array(fc.base64String({ maxLength: 60 }), { maxLength: 5 })
        .map((parts) => parts.join('.')),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...HEADERS), texts, (name, text) =>
        refused(http({ [name]: text })),
      ),
      RUNS,
    );
  });

  it('a token with one character changed, added or missing is refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('passport', 'structured', 'mandate' as const),
        fc.nat(),
        fc.constantFrom('A', 'b', '.', '-', '"', '0', '', 'AA'),
        async (kind, at, put) => {
          const token = valid[kind as keyof typeof valid];
          const index = at % token.length;
          const changed = token.slice(0, index) + put + token.slice(index + 1);
          if (changed === token) return;
          const header = kind === 'mandate' ? 'x-agent-mandate' : 'x-agent-passport';
          await refused(http({ [header]: changed }), changed);
        },
      ),
      RUNS,
    );
  });

  it('signed claims of any kind are refused, unless they are exactly what they should be', async () => {
    const names = Object.keys(world.passportClaims());
    const strange = fc.oneof(
      fc.constant(undefined),
      fc.jsonValue(),
      fc.integer(),
      fc.constantFrom('__proto__', '*', '*/*', Number.MAX_SAFE_INTEGER, -1, [], {}, null, true),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), strange, async (name, value) => {
        if (name === 'jti' || name === 'mnd' || name === 'sub' || name === 'prn') {
          if (typeof value === 'string' && value !== '') return;
        }
        const isRight = JSON.stringify(world.passportClaims()[name]) === JSON.stringify(value);
        const isOptional = name === 'bud' || name === 'slf' || name === 'cnf';
        const isSmall = typeof value === 'number' || Array.isArray(value);
        if (isRight || isOptional || (isSmall && LENIENT.has(name))) return;
        const claims = { ...world.passportClaims(), [name]: value };
        const token = await world.sign(JSON.stringify(claims), { typ: 'passport+jwt' });
        await refused(http({ 'x-agent-passport': token }), token);
      }),
      RUNS,
    );
  });

  it('headers of any kind around a right payload are refused', async () => {
    const payload = Buffer.from(JSON.stringify(world.passportClaims())).toString('base64url');
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(
          fc.constantFrom('alg', 'typ', 'kid', 'crit', 'jku', 'x5u', 'jwk', 'b64', 'zip', 'x'),
          fc.oneof(
            fc.constantFrom('none', 'HS256', 'Ed25519', 'passport+jwt', world.kid),
            fc.jsonValue(),
          ),
        ),
        fc.base64String(),
        async (header, signature) => {
          const head = Buffer.from(JSON.stringify(header)).toString('base64url');
          const token = [head, payload, signature.replaceAll('=', '')].join('.');
          await refused(http({ 'x-agent-passport': token }));
        },
      ),
      RUNS,
    );
  });

  it('two credentials of any kinds are refused, and those in a URL', async () => {
    const one = fc.constantFrom(
      ['x-agent-passport', valid.passport],
      ['x-agent-passport', valid.structured],
      ['x-agent-mandate', valid.mandate],
      ['authorization', 'Bearer some-key'],
    );
    await fc.assert(
      fc.asyncProperty(one, one, fc.string({ minLength: 1, maxLength: 9 }), async (a, b, name) => {
        const [first = '', second = ''] = [a[0], b[0]];
        const both = first === second ? { [first]: [a[1] ?? '', b[1] ?? ''] } : undefined;
        await refused(http(both ?? { [first]: a[1] ?? '', [second]: b[1] ?? '' }));
        const query = new URLSearchParams([[name, valid.passport]]);
        await refused(http({}, `/mcp?${query}`), valid.passport);
      }),
      RUNS,
    );
  });
});

/** Numbers and lists of these may take other values. */
const LENIENT = new Set(['cap', 'scp', 'mxd', 'epo', 'iat', 'nbf', 'exp']);
