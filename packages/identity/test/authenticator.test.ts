import { FabricError, parseEnvelope } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import {
  type AuthRequest,
  createAuthenticator,
  createPskVerifier,
  generateKey,
  type RequestHeaders,
  toAuth,
} from '../src/index.ts';

const KEY = generateKey();
const psk = createPskVerifier([
  { key_id: 'ci-2026', key: KEY, principal: 'ci', tier: 'org', scopes: ['agents:call'] },
]);
const strict = createAuthenticator({ psk, anonymous: false });
const open = createAuthenticator({ psk, anonymous: true });
const protocolOf = (key: string) => `bearer.${Buffer.from(key).toString('base64url')}`;

const denialOf = (authenticator: typeof strict, request: AuthRequest): FabricError => {
  try {
    const principal = authenticator.authenticate(request);
    return expect.fail(`let in as ${principal.id}`);
  } catch (error) {
    if (!FabricError.is(error)) throw error;
    return error;
  }
};

describe('authenticator', () => {
  it('[G11] maps "Authorization: Bearer <psk>" to auth.mode "psk" of the envelope', () => {
    const headers = { authorization: `Bearer ${KEY}` };
    const principal = strict.authenticate({ transport: 'http', headers, url: '/mcp' });
    expect(principal).toEqual({
      id: 'ci',
      mode: 'psk',
      tier: 'org',
      scopes: ['agents:call'],
      keyId: 'ci-2026',
    });
    const envelope = parseEnvelope({ ...exampleEnvelope('echo'), auth: toAuth(principal) });
    expect(envelope.auth).toMatchObject({
      mode: 'psk',
      principal_id: 'ci',
      key_id: 'ci-2026',
      tier: 'org',
      scp: ['agents:call'],
      agent_passport_id: null,
      delegate_id: null,
    });
  });

  it.each<[string, RequestHeaders]>([
    ['the scheme in any case', { authorization: `bearer ${KEY}` }],
    ['the header name in any case', { Authorization: `Bearer ${KEY}` }],
    ['more than one space', { authorization: `Bearer   ${KEY}` }],
    ['a header given as a list of one', { authorization: [`Bearer ${KEY}`] }],
  ])('takes %s', (_, headers) => {
    expect(strict.authenticate({ transport: 'http', headers }).id).toBe('ci');
  });

  it('takes the key from a subprotocol of a WebSocket', () => {
    const headers = { 'sec-websocket-protocol': `mcp, ${protocolOf(KEY)}` };
    expect(strict.authenticate({ transport: 'ws', headers }).id).toBe('ci');
    expect(strict.authenticate({ transport: 'ws', headers: bearer(KEY) }).id).toBe('ci');
  });

  it('knows callers on stdio as the local user', () => {
    const principal = strict.authenticate({ transport: 'stdio' });
    expect(principal).toMatchObject({ id: 'local', mode: 'none', tier: 'local', keyId: null });
  });

  it('lets callers without credentials in only when anonymous callers are allowed', () => {
    const request: AuthRequest = { transport: 'http', headers: { host: 'x' }, url: '/mcp?page=2' };
    expect(denialOf(strict, request).details.reason).toBe('missing');
    expect(open.authenticate(request)).toMatchObject({
      id: 'anonymous',
      mode: 'none',
      tier: 'local',
    });
  });

  it('knows a caller by its key also when callers without one are let in', () => {
    expect(open.authenticate({ transport: 'http', headers: bearer(KEY) }).id).toBe('ci');
  });
});

describe('must be rejected, also when callers without credentials are let in:', () => {
  const http = (headers: RequestHeaders, url = '/mcp'): AuthRequest => {
    return { transport: 'http', headers, url };
  };
  const ws = (protocols: string | string[], more: RequestHeaders = {}): AuthRequest => {
    return { transport: 'ws', headers: { 'sec-websocket-protocol': protocols, ...more } };
  };
  const twice = [`Bearer ${KEY}`, `Bearer ${KEY}`];

  it.each<[string, string, AuthRequest]>([
    ['a key nobody has', 'unknown_key', http(bearer(generateKey()))],
    ['a key with its last character cut', 'unknown_key', http(bearer(KEY.slice(0, -1)))],
    ['a key with a character more', 'unknown_key', http(bearer(`${KEY}A`))],
    ['a key in another case', 'unknown_key', http(bearer(KEY.toUpperCase()))],
    ['the id of a key', 'unknown_key', http(bearer('ci-2026'))],
    ['an empty header', 'malformed', http({ authorization: '' })],
    ['a scheme without a key', 'malformed', http({ authorization: 'Bearer ' })],
    ['a key without a scheme', 'malformed', http({ authorization: KEY })],
    ['another scheme', 'malformed', http({ authorization: `Basic ${btoa(`ci:${KEY}`)}` })],
    ['a tab for the space', 'malformed', http({ authorization: `Bearer\t${KEY}` })],
    ['two keys in one header', 'malformed', http({ authorization: twice.join(', ') })],
    ['two keys with a space', 'malformed', http({ authorization: `Bearer ${KEY} ${KEY}` })],
    ['a key beyond ASCII', 'malformed', http(bearer(`${KEY}é`))],
    ['a key with a control character', 'malformed', http(bearer(`${KEY}\u0000`))],
    ['a key of a megabyte', 'malformed', http(bearer('x'.repeat(1_000_000)))],
    ['two Authorization headers', 'several_credentials', http({ authorization: twice })],
    [
      'two headers that differ in case',
      'several_credentials',
      http({ authorization: `Bearer ${KEY}`, AUTHORIZATION: `Bearer ${KEY}` }),
    ],
    ['a passport', 'unsupported', http({ 'x-agent-passport': '{}' })],
    [
      'a passport beside a key',
      'several_credentials',
      http({ ...bearer(KEY), 'x-agent-passport': '{}' }),
    ],
    ['a key in the query', 'credential_in_url', http({}, `/mcp?access_token=${KEY}`)],
    ['a key in the query too', 'credential_in_url', http(bearer(KEY), `/mcp?token=${KEY}`)],
    ['an escaped name', 'credential_in_url', http({}, `/mcp?%61pi-key=${KEY}`)],
    ['a key under any name', 'credential_in_url', http({}, `/mcp?page=${KEY}`)],
    ['a key before the host', 'credential_in_url', http({}, `http://${KEY}@localhost/mcp`)],
    ['a URL that is none', 'malformed', http({}, 'http://[?')],
    ['a subprotocol of nobody', 'unknown_key', ws(['mcp', protocolOf(generateKey())])],
    ['a subprotocol without a key', 'malformed', ws('mcp, bearer.')],
    ['a bare subprotocol', 'malformed', ws('mcp, bearer')],
    ['a subprotocol in another case', 'malformed', ws(`mcp, ${protocolOf(KEY).toUpperCase()}`)],
    ['a subprotocol with the bare key', 'malformed', ws(`mcp, bearer.${KEY}!`)],
    ['a subprotocol with padding', 'malformed', ws(`mcp, ${protocolOf(`${KEY}==`)}==`)],
    ['a subprotocol of control characters', 'malformed', ws(`mcp, ${protocolOf(`${KEY}\n`)}`)],
    ['two subprotocols', 'several_credentials', ws(`${protocolOf(KEY)}, ${protocolOf(KEY)}`)],
    ['subprotocol and header', 'several_credentials', ws(protocolOf(KEY), bearer(KEY))],
    [
      'a subprotocol over HTTP',
      'malformed',
      http({ 'sec-websocket-protocol': `mcp, ${protocolOf(KEY)}` }),
    ],
  ])('%s (%s)', (_, reason, request) => {
    for (const authenticator of [strict, open]) {
      const error = denialOf(authenticator, request);
      expect(error).toMatchObject({ code: 'AUTH_DENIED', details: { reason } });
      expect(error.details.fix).toBeTypeOf('string');
      expect(JSON.stringify([error.message, error.toPayload(null), error.cause])).not.toContain(
        KEY,
      );
    }
  });
});

describe('a connection that was let in', () => {
  it('is not asked to prove the same key again, and no other caller is let in by it', () => {
    let looked = 0;
    const counting = {
      verify: (key: string) => {
        looked += 1;
        return psk.verify(key);
      },
    };
    const authenticator = createAuthenticator({ psk: counting, anonymous: false });
    const [connection, other] = [{}, {}];
    const ask = (key: string, over: object): AuthRequest => {
      return { transport: 'http', headers: bearer(key), url: '/mcp', connection: over };
    };
    for (let turn = 0; turn < 3; turn += 1) {
      expect(authenticator.authenticate(ask(KEY, connection)).id).toBe('ci');
    }
    expect(looked).toBe(1);
    expect(denialOf(authenticator, ask(generateKey(), connection)).details.reason).toBe(
      'unknown_key',
    );
    expect(authenticator.authenticate(ask(KEY, other)).id).toBe('ci');
    expect(looked).toBe(3);
    const without: AuthRequest = { transport: 'http', headers: {}, url: '/mcp', connection };
    expect(denialOf(authenticator, without).details.reason).toBe('missing');
  });
});

function bearer(key: string): RequestHeaders {
  return { authorization: `Bearer ${key}` };
}
