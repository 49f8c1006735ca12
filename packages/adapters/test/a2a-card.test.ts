import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AgentCard, generateAgentCardSignature } from '@a2a-js/sdk';
import { type Adapter, silentLog } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseAgentCard } from '../../a2a/src/client/agent-card.ts';
import {
  chooseInterface,
  createCardGuard,
  trustedOrigins,
} from '../../a2a/src/client/choose-interface.ts';
import { a2aOptionsSchema } from '../../a2a/src/client/options.ts';
import { createA2aAdapter } from '../src/a2a/adapter.ts';
import { cardOf, type FakeA2aOptions, openFakeA2a, sendJson } from './fixtures/fake-a2a.ts';
import { failedCall, runCall } from './fixtures/run-call.ts';

const context = { signal: new AbortController().signal, log: silentLog };
const describing = (adapter: Adapter) => adapter.describe(context);
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('succeeded'),
    (error: unknown) => error,
  );

describe('the card of an A2A agent', () => {
  it('names its skills as capabilities, with names that callers can use', async () => {
    const skills = [
      {
        id: 'plan',
        name: 'Plan',
        description: 'Plans\u202e a trip',
        inputModes: ['text/plain', 'image/png'],
      },
      { id: 'book a hotel!', name: 'Book' },
    ];
    const { adapter } = await openFakeA2a({}, { card: { skills } });
    const { version, description, capabilities } = await describing(adapter);
    expect({ version, description }).toEqual({ version: '1.0.0', description: 'Breaks rules' });
    expect(capabilities).toMatchObject([
      {
        name: 'plan',
        title: 'Plan',
        description: 'Plans a trip',
        streaming: true,
        modalities: ['text', 'image'],
        input_schema: { required: ['task'] },
      },
      { name: expect.stringMatching(/^book-a-hotel--[0-9a-f]{8}$/), tool: 'book a hotel!' },
    ]);
  });

  it.each([null, []])('offers to send a message when it names no skill: %o', async (skills) => {
    const { adapter } = await openFakeA2a({}, { card: { skills } });
    const { capabilities } = await describing(adapter);
    expect(capabilities).toMatchObject([{ name: 'message', description: 'Breaks rules' }]);
  });

  it.each(['', '/', '/.well-known/agent-card.json', '/deep/base'])(
    'is found from the address %o',
    async (path) => {
      const { adapter } = await openFakeA2a({}, { path });
      expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    },
  );

  it.each<[what: string, reason: string, options: FakeA2aOptions]>([
    ['is not there', 'no_card', { serveCard: (_, response) => response.writeHead(404).end() }],
    [
      'is not asked for so',
      'no_card',
      { serveCard: (_, response) => response.writeHead(405).end() },
    ],
    ['is a page', 'no_card', { serveCard: (_, response) => response.end('<p>') }],
    ['is something else', 'bad_card', { serveCard: (_, response) => sendJson(response, { a: 1 }) }],
    [
      'is too large',
      'result_too_large',
      { serveCard: (_, response) => response.end(`"${'x'.repeat(5_000_000)}"`) },
    ],
    [
      'sends us elsewhere',
      'redirect',
      {
        serveCard: (_, response) =>
          response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      },
    ],
  ])('is refused when it %s', async (_, reason, options) => {
    const { adapter } = await openFakeA2a({}, options);
    const expected = { code: 'UPSTREAM_ERROR', details: { reason, sent: false } };
    expect(await failureOf(describing(adapter))).toMatchObject(expected);
    expect(await failedCall(adapter, 'hello')).toMatchObject(expected);
    expect(await adapter.health(context)).toMatchObject({ status: 'degraded' });
  });

  it('is not waited for without end', async () => {
    const options = { card_timeout_ms: 100 };
    const { adapter } = await openFakeA2a({}, { serveCard: () => {}, options });
    expect(await failedCall(adapter, 'hello')).toMatchObject({ code: 'TIMEOUT' });
    expect(await adapter.health(context)).toMatchObject({ status: 'offline' });
  });

  it('shows more to a client that authenticates', async () => {
    const skills = [
      { id: 'work', name: 'Work' },
      { id: 'secret', name: 'Secret' },
    ];
    const { adapter } = await openFakeA2a(
      {
        GetExtendedAgentCard: ({ id }, response) => {
          sendJson(response, { jsonrpc: '2.0', id, result: { ...cardOf('http://x'), skills } });
        },
      },
      {
        card: { capabilities: { streaming: true, extendedAgentCard: true } },
        headers: { Authorization: 'Bearer key' },
      },
    );
    const { capabilities } = await describing(adapter);
    expect(capabilities.map(({ name }) => name)).toEqual(['work', 'secret']);
  });
});

describe('where the card of an A2A agent points to', () => {
  const interfacesOf = (url: string, protocolBinding = 'JSONRPC') => ({
    card: { supportedInterfaces: [{ url, protocolBinding, protocolVersion: '1.0' }] },
  });

  it.each([
    ['another host', 'http://agent.example/rpc', 'JSONRPC'],
    ['another port', 'http://127.0.0.1:1/rpc', 'HTTP+JSON'],
    ['another port over gRPC', '127.0.0.1:1', 'GRPC'],
    ['the metadata of a cloud', 'http://169.254.169.254/latest', 'JSONRPC'],
    ['a file', 'file:///etc/passwd', 'JSONRPC'],
    ['a socket of this machine', 'unix:///var/run/docker.sock', 'GRPC'],
    ['a resolver of gRPC', 'dns://1.1.1.1/agent.example:443', 'GRPC'],
    ['an address with credentials', 'http://user:pass@127.0.0.1/rpc', 'JSONRPC'],
  ])('is refused when it is %s', async (_, url, binding) => {
    const { adapter, requests } = await openFakeA2a({}, interfacesOf(url, binding));
    expect(await failedCall(adapter, 'hello')).toMatchObject({
      code: 'POLICY_DENIED',
      details: { reason: 'card_points_elsewhere', sent: false },
    });
    expect(requests).toEqual([]);
  });

  it.each(['localhost', '0.0.0.0'])('may be %s when the agent is on this machine', async (host) => {
    const { adapter, base } = await openFakeA2a({}, { serveCard });
    function serveCard(_: IncomingMessage, response: ServerResponse) {
      sendJson(response, cardOf(base.replace('127.0.0.1', host)));
    }
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
  });

  it('is overruled by the address in the manifest', async () => {
    const other = await openFakeA2a({});
    const { adapter } = await openFakeA2a(
      {},
      { ...interfacesOf('http://0.0.0.0:8000/'), options: { url: `${other.base}/rpc` } },
    );
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    expect(other.methods).toEqual(['SendStreamingMessage']);
  });

  it('is used when the manifest names the origin', async () => {
    const other = await openFakeA2a({});
    const { adapter } = await openFakeA2a(
      {},
      { ...interfacesOf(`${other.base}/rpc`), options: { origins: [other.base] } },
    );
    expect((await runCall(adapter, 'hello')).result?.answer).toBe('hello');
    expect(other.methods).toEqual(['SendStreamingMessage']);
  });

  it('is not dialled when a name that the manifest allows leads into our own network', () => {
    const uri = new URL('https://agent.example/');
    const options = a2aOptionsSchema.parse({
      origins: ['http://agent.localhost:1', 'http://10.0.0.1'],
    });
    const guard = createCardGuard(uri, trustedOrigins(uri, options), options);
    expect(() => guard.check('http://agent.localhost:1/rpc')).toThrow(
      expect.objectContaining({ code: 'POLICY_DENIED' }),
    );
    expect(() => guard.check('http://10.0.0.1/rpc')).not.toThrow();
    expect(() => guard.check('https://agent.example/rpc')).not.toThrow();
  });

  it('is the first interface we speak, of the newest version, unless the manifest says so', () => {
    const at = (binding: string, protocolVersion: string, path: string) => ({
      url: `https://agent.example/${path}`,
      protocolBinding: binding,
      protocolVersion,
    });
    const card = parseAgentCard({
      name: 'Many',
      supportedInterfaces: [
        at('CARRIER-PIGEON', '1.0', 'p'),
        at('jsonrpc', '0.3', 'a'),
        at('JSONRPC', '1.0', 'b'),
        at('HTTP+JSON', '1.0', 'c'),
      ],
    });
    const choose = (given: object) => {
      const options = a2aOptionsSchema.parse(given);
      const origins = trustedOrigins(new URL('https://agent.example/'), options);
      return chooseInterface(card, options, origins);
    };
    expect(choose({})).toMatchObject({ url: 'https://agent.example/b', version: '1.0' });
    expect(choose({ binding: 'rest' })).toMatchObject({ url: 'https://agent.example/c' });
    expect(choose({ version: '0.3' })).toMatchObject({ url: 'https://agent.example/a' });
    const overruled = { binding: 'rest', version: '0.3' };
    expect(() => choose(overruled)).toThrow();
    expect(() => choose({ binding: 'grpc' })).toThrow(
      expect.objectContaining({ code: 'CAPABILITY_NOT_FOUND' }),
    );
  });

  it.each([
    ['0.2.5', '0.3'],
    ['0.3.0', '0.3'],
    ['1.0.1', '1.0'],
  ])('is spoken to in the version %s as %s', (protocolVersion, version) => {
    const card = parseAgentCard({ name: 'Old', url: 'https://a.example', protocolVersion });
    expect(card.interfaces).toEqual([
      { url: 'https://a.example', binding: 'JSONRPC', version, tenant: '' },
    ]);
  });

  it.each([
    ['http://*.example'],
    ['agent.example'],
    ['https://agent.example/path'],
    ['grpc://agent.example'],
  ])('may not be allowed as %s', (origin) => {
    const endpoint = {
      transport: 'http' as const,
      protocol: 'a2a',
      uri: 'http://127.0.0.1:1',
      options: { origins: [origin] },
    };
    const manifest = exampleManifest({ endpoint });
    expect(() => createA2aAdapter({ manifest, log: silentLog })).toThrow(
      expect.objectContaining({ code: 'BAD_INPUT' }),
    );
  });
});

describe('the signature of a card', () => {
  type Plain = Record<string, unknown>;

  async function keys(alg = 'ES256') {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'k1' } };
  }

  const signed = async (card: Plain, key: CryptoKey, alg = 'ES256'): Promise<Plain> => {
    const header = { alg, kid: 'k1', typ: 'JOSE' };
    return (await generateAgentCardSignature(key, header)(card as unknown as AgentCard)) as never;
  };

  /** Serves what `make` makes of a card, behind a manifest that pins `jwk`. */
  async function open(jwk: JWK, make: (card: Plain) => Promise<Plain> | Plain) {
    const written = vi.spyOn(console, 'debug').mockImplementation(() => {});
    onTestFinished(() => written.mockRestore());
    const server = createServer(async (request, response) => {
      if (request.method === 'GET') {
        const securitySchemes = { key: { httpAuthSecurityScheme: { scheme: 'bearer' } } };
        return sendJson(response, await make({ ...cardOf(base), securitySchemes }));
      }
      return response.writeHead(500).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const endpoint = {
      transport: 'http' as const,
      protocol: 'a2a',
      uri: base,
      options: { card_keys: [jwk] },
    };
    const adapter = createA2aAdapter({ manifest: exampleManifest({ endpoint }), log: silentLog });
    onTestFinished(async () => {
      await adapter.close();
      server.close();
    });
    return { adapter, written };
  }

  it.each(['ES256', 'RS256', 'EdDSA'])(
    'is accepted when it is of a pinned key (%s)',
    async (alg) => {
      const { privateKey, jwk } = await keys(alg);
      const { adapter } = await open(jwk, (card) => signed(card, privateKey, alg));
      expect((await describing(adapter)).capabilities).toMatchObject([{ name: 'work' }]);
    },
  );

  it.each<[what: string, make: (card: Plain, key: CryptoKey) => Promise<Plain> | Plain]>([
    ['is missing', (card) => card],
    ['is of another key', async (card) => signed(card, (await keys()).privateKey)],
    [
      'covers another security scheme',
      async (card, key) => ({
        ...(await signed(card, key)),
        securitySchemes: { key: { httpAuthSecurityScheme: { scheme: 'basic' } } },
      }),
    ],
    [
      'covers another address',
      async (card, key) => ({
        ...(await signed(card, key)),
        supportedInterfaces: [
          { url: 'http://127.0.0.1:1/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        ],
      }),
    ],
    [
      'is made with the public key as a password',
      async (card) => {
        const jwt = new SignJWT({}).setProtectedHeader({ alg: 'HS256', kid: 'k1', typ: 'JOSE' });
        const [header, , signature] = (await jwt.sign(new TextEncoder().encode('public'))).split(
          '.',
        );
        return { ...card, signatures: [{ protected: header, signature }] };
      },
    ],
    ['is no signature', (card) => ({ ...card, signatures: [{ protected: '!', signature: '' }] })],
  ])('is refused when it %s, and nothing is written to standard output', async (_, make) => {
    const { privateKey, jwk } = await keys();
    const { adapter, written } = await open(jwk, (card) => make(card, privateKey));
    expect(await failureOf(describing(adapter))).toMatchObject({
      code: 'AUTH_DENIED',
      details: { reason: 'card_signature' },
    });
    expect(written).not.toHaveBeenCalled();
  });

  it('does not cover fields of older cards, so they are not used', async () => {
    const { privateKey, jwk } = await keys();
    const { adapter } = await open(jwk, async (card) => ({
      ...(await signed({ ...card, supportedInterfaces: [] }, privateKey)),
      url: 'http://127.0.0.1:1/',
      protocolVersion: '0.3.0',
    }));
    expect(await failureOf(describing(adapter))).toMatchObject({
      code: 'CAPABILITY_NOT_FOUND',
      details: { reason: 'no_interface' },
    });
  });
});
