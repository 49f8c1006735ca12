import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { answers, KEY, openTestGateway } from '../test-gateway.ts';
import { type Json, message, send, withKey } from './a2a-client.ts';
import { request, rpc } from './raw.ts';

const schema = { type: 'object', properties: { question: { type: 'string' } } };
const agents = {
  percy: {
    manifest: {
      description: 'Thinks',
      version: '1.2.3',
      tags: ['planner'],
      capabilities: [
        { name: 'reason', title: 'Reason', description: 'Thinks it over', input_schema: schema },
        { name: 'draw', modalities: ['text', 'image'] },
      ],
    },
    run: answers('42'),
  },
  quinn: { run: answers('43') },
};
const PATH = '/.well-known/agent-card.json';
const fetchImpl = withKey(KEY);
const factory = new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
});

describe('A2A cards', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('CARD-DISC-001, STRUCT-001, PROTO-001, 002, BIND-FIELD-001: say what an agent offers, and where', async () => {
    await using gateway = await openTestGateway(agents);
    const { body, headers } = await request(`${gateway.url}/a2a/percy${PATH}`, 'GET');
    const url = `${gateway.url}/a2a/percy`;
    expect(body).toMatchObject({
      name: 'percy',
      description: 'Thinks',
      version: '1.2.3',
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
      supportedInterfaces: [
        { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
        { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      ],
      skills: [
        { id: 'reason', name: 'Reason', description: 'Thinks it over', tags: ['percy', 'planner'] },
        { id: 'draw', inputModes: ['text/plain', 'application/json', 'image/*'] },
      ],
    });
    expect(headers.get('vary')).toBe('Authorization, A2A-Version');
    expect(headers.get('cache-control')).toContain('private');
    expect(headers.get('last-modified')).toMatch(/GMT$/);
    const etag = headers.get('etag') ?? '';
    const again = await request(`${gateway.url}/a2a/percy${PATH}`, 'GET', undefined, {
      headers: { 'if-none-match': etag },
    });
    expect(again.status).toBe(304);
    expect((await request(`${gateway.url}/a2a/percy${PATH}`, 'HEAD')).status).toBe(200);
  });

  it('have security schemes and requirements as version 1.0 writes them', async () => {
    await using gateway = await openTestGateway(agents);
    const { body } = await request(`${gateway.url}/a2a/percy${PATH}`, 'GET');
    const description = expect.any(String);
    expect(body.securitySchemes).toEqual({
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description } },
    });
    expect(body.securityRequirements).toEqual([{ schemes: { bearer: { list: [] } } }]);
    expect(body).not.toHaveProperty('security');
  });

  it('serve clients of 0.3 in one document with the interfaces of 1.0', async () => {
    await using gateway = await openTestGateway(agents);
    const asked = { version: '' };
    const { body } = await request(`${gateway.url}/a2a/percy${PATH}`, 'GET', undefined, asked);
    const scheme = { scheme: 'Bearer', description: expect.any(String) };
    // Each client reads the shape that it knows; the Go SDK can read no requirements of 1.0.
    expect(body.securitySchemes).toEqual({
      bearer: { type: 'http', ...scheme, httpAuthSecurityScheme: scheme },
    });
    expect(body).not.toHaveProperty('securityRequirements');
    // REST of 0.3 is not served.
    expect(body.additionalInterfaces ?? []).not.toContainEqual(
      expect.objectContaining({ transport: 'HTTP+JSON' }),
    );
    expect(body).toMatchObject({
      url: `${gateway.url}/a2a/percy`,
      protocolVersion: '0.3',
      preferredTransport: 'JSONRPC',
      security: [{ bearer: [] }],
      supportedInterfaces: expect.arrayContaining([
        expect.objectContaining({ protocolVersion: '1.0' }),
      ]),
    });
  });

  it('list every agent in the card of the gateway, which is an agent itself', async () => {
    await using gateway = await openTestGateway(agents);
    const { body } = await request(`${gateway.url}${PATH}`, 'GET');
    expect(body.skills.map(({ id }: Json) => id)).toEqual([
      'percy.reason',
      'percy.draw',
      'quinn.work',
    ]);
    const [{ params }] = body.capabilities.extensions;
    expect(params.agents).toEqual([
      { agentId: 'percy', card: `${gateway.url}/a2a/percy${PATH}` },
      { agentId: 'quinn', card: `${gateway.url}/a2a/quinn${PATH}` },
    ]);
    for (const { card } of params.agents) expect((await request(card, 'GET')).status).toBe(200);
    expect(body.supportedInterfaces[0].url).toBe(`${gateway.url}/a2a/fabric`);
    const same = await request(`${gateway.url}/a2a/fabric${PATH}`, 'GET');
    expect(same.body).toEqual(body);
  });

  it.each(['/a2a/percy', '/a2a/percy/'])(
    'are found by the JS SDK at %s, where the caller may use one agent alone',
    async (path) => {
      await using gateway = await openTestGateway({ percy: { run: answers('42') } });
      const client = await factory.createFromUrl(`${gateway.url}${path}`);
      expect(await client.getAgentCard()).toMatchObject({ name: 'percy' });
      const task = await send(client, message('Why?'));
      expect(task).toMatchObject({
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ parts: [{ text: '42' }] }],
      });
    },
  );

  it('are those of the gateway where a URL without a slash may mean several agents', async () => {
    await using gateway = await openTestGateway(agents);
    const named = await factory.createFromUrl(`${gateway.url}/a2a/quinn/`);
    expect(await named.getAgentCard()).toMatchObject({ name: 'quinn' });
    // The SDK resolves the card against the last slash, so that the name of the agent is lost.
    const unnamed = await factory.createFromUrl(`${gateway.url}/a2a/quinn`);
    expect(await unnamed.getAgentCard()).toMatchObject({ name: 'starloom' });
    const metadata = { 'io.starloom/capability': 'quinn.work' };
    const task = await send(unnamed, message('Why?', { metadata }));
    expect(task.artifacts[0].parts).toEqual([expect.objectContaining({ text: '43' })]);
    const refused = await request(`${gateway.url}/a2a${PATH}`, 'GET', undefined, { key: '' });
    expect(refused.status).toBe(401);
  });

  it('have the schemas of the capabilities in the extended card', async () => {
    await using gateway = await openTestGateway(agents);
    const url = `${gateway.url}/a2a/percy`;
    const byRpc = (await rpc(url, 'GetExtendedAgentCard', {})).body.result;
    expect((await request(`${url}/extendedAgentCard`, 'GET')).body).toEqual(byRpc);
    const [{ params }] = byRpc.capabilities.extensions;
    expect(params.reason).toEqual({ inputSchema: schema });
    const legacy = 'agent/getAuthenticatedExtendedCard';
    const older = await rpc(url, legacy, undefined, { version: '' });
    expect(older.body.result).toMatchObject({ name: 'percy', security: [{ bearer: [] }] });
  });

  it.each([
    ['EdDSA', () => generateKeyPairSync('ed25519').privateKey],
    ['ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
  ] as const)(
    'CARD-SIGN-001 to 003: are signed with %s where there is a key, and a change is noticed',
    async (alg, generate) => {
      const key: KeyObject = generate();
      const signingKey = key.export({ format: 'pem', type: 'pkcs8' }).toString();
      await using gateway = await openTestGateway(agents, { signingKey });
      const { body } = await request(`${gateway.url}/a2a/percy${PATH}`, 'GET');
      const header = JSON.parse(atob(body.signatures[0].protected));
      expect(header).toEqual({ alg, kid: expect.any(String), typ: 'JOSE' });
      expect(JSON.parse(canonicalizeAgentCard(body))).not.toHaveProperty('signatures');
      const verify = verifyAgentCardSignature(async () => createPublicKey(key));
      await verify(body);
      const extended = (await rpc(`${gateway.url}/a2a/percy`, 'GetExtendedAgentCard', {})).body;
      await verify(extended.result);
      const changed = structuredClone(body);
      changed.securitySchemes.bearer.httpAuthSecurityScheme.scheme = 'Basic';
      vi.spyOn(console, 'debug').mockReturnValue();
      await expect(verify(changed)).rejects.toThrow();
    },
  );

  it('are not signed without a key', async () => {
    await using gateway = await openTestGateway(agents);
    const { body } = await request(`${gateway.url}/a2a/percy${PATH}`, 'GET');
    expect(body).not.toHaveProperty('signatures');
  });
});
