import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { Secret } from '@starloom/config';
import {
  type CertificateRule,
  createAuthenticator,
  createCertificateVerifier,
  createPskVerifier,
} from '@starloom/identity';
import {
  createTestCa,
  type IssuedCertificate,
  type TestCa,
  temporaryFolder,
} from '@starloom/testkit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { gatewayConfigSchema, loadGatewayConfig, TlsFiles } from '../src/index.ts';
import { toClientCertificate } from '../src/transports/listener.ts';
import { answers, openTestGateway } from './test-gateway.ts';

const SPIFFE = 'spiffe://acme.example/ns/agents/planner';
const RULES: CertificateRule[] = [
  { spiffe: SPIFFE, principal: 'planner', tier: 'org', scopes: ['*'] },
  { san: 'DNS:*.agents.example', principal: 'fleet', tier: 'partner', scopes: ['agent:percy'] },
  { subject: 'desk', principal: 'desk', tier: 'org', scopes: [] },
];
const KEY = 'a-shared-key-0123456789abcdef';

let ca: TestCa;
let foreignCa: TestCa;
let server: IssuedCertificate;
let planner: IssuedCertificate;

beforeAll(async () => {
  ca = await createTestCa();
  foreignCa = await createTestCa('Foreign CA');
  server = await ca.issue({
    name: 'gateway',
    dns: ['localhost', 'gw.example'],
    ips: ['127.0.0.1'],
  });
  planner = await ca.issue({ uris: [SPIFFE] });
});

interface WorldOptions {
  readonly clients?: 'none' | 'optional' | 'required';
  readonly crl?: string;
}

async function openWorld({ clients = 'optional', crl }: WorldOptions = {}) {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const write = (name: string, text: string) => writeFile(join(folder.path, name), text);
  await write('cert.pem', server.certificate);
  await write('key.pem', server.key);
  await write('ca.pem', ca.certificate);
  if (crl) await write('crl.pem', crl);
  const lines: string[] = [];
  const certificates = await TlsFiles.open({
    config: {
      certificate: new Secret('file:cert.pem'),
      key: new Secret('file:key.pem'),
      client_ca: new Secret('file:ca.pem'),
      ...(crl && { client_crl: new Secret('file:crl.pem') }),
      client_certificates: clients,
    },
    folder: folder.path,
    log: {
      info: (_: unknown, text: string) => lines.push(text),
      error: (_: unknown, text: string) => lines.push(text),
      warn: () => {},
    } as never,
    pollMs: 200,
  });
  onTestFinished(() => certificates.close());
  const psk = createPskVerifier([
    { key_id: 'k', key: KEY, principal: 'ci', tier: 'org', scopes: ['*'] },
  ]);
  const authenticator = createAuthenticator({
    psk,
    certificates: createCertificateVerifier(RULES),
    anonymous: false,
  });
  const gateway = await openTestGateway(
    { percy: { run: answers('from percy') } },
    { authenticator, certificates },
  );
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  return { ...gateway, write, lines, certificates };
}

interface Asked {
  readonly status: number | undefined;
  readonly text: string;
  /** Serial of the certificate of the gateway. */
  readonly serial: string | undefined;
}

/** One request with this client certificate; rejects when the connection is refused. */
function ask(
  url: string,
  client: IssuedCertificate | undefined,
  options: { headers?: Record<string, string>; agent?: Agent; path?: string; tool?: string } = {},
): Promise<Asked> {
  const { headers = {}, agent = new Agent(), path = '/mcp', tool = 'fabric.agent.list' } = options;
  const params = { name: tool, arguments: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      url + path,
      {
        method: path === '/mcp' ? 'POST' : 'GET',
        ca: ca.certificate,
        servername: 'localhost',
        cert: client?.certificate,
        key: client?.key,
        agent,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      },
      async (response) => {
        const chunks: Buffer[] = [];
        const { socket } = response as unknown as { socket: import('node:tls').TLSSocket };
        const serial = socket.getPeerX509Certificate()?.serialNumber;
        for await (const chunk of response) chunks.push(chunk as Buffer);
        resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString(), serial });
      },
    );
    sent.on('error', reject).end(path === '/mcp' ? body : undefined);
  });
}

describe('a client certificate', () => {
  it('[G14] makes its bearer the principal of the rule that fits, with its scopes', async () => {
    const { url } = await openWorld({ clients: 'required' });
    expect(url).toMatch(/^https:/);
    const named = await ask(url, planner);
    expect(named.status).toBe(200);
    expect(named.text).toContain('percy');
    const fleet = await ca.issue({ dns: ['one.agents.example'] });
    expect((await ask(url, fleet, { tool: 'percy.work' })).text).toContain('from percy');
    const desk = await ca.issue({ name: 'desk' });
    expect((await ask(url, desk, { tool: 'percy.work' })).text).toContain('There is no tool');
  });

  it.each<[string, () => Promise<IssuedCertificate>]>([
    ['no rule names', () => ca.issue({ uris: ['spiffe://acme.example/ns/agents/other'] })],
    ['has two URIs', () => ca.issue({ uris: [SPIFFE, 'spiffe://acme.example/ns/agents/b'] })],
    ['has the name in another kind', () => ca.issue({ dns: ['desk'] })],
    ['is for a deeper domain', () => ca.issue({ dns: ['a.one.agents.example'] })],
    ['hides a second name in one', () => ca.issue({ dns: ['x, DNS:one.agents.example'] })],
  ])('that %s is refused with 401', async (_, make) => {
    const { url } = await openWorld();
    const { status, text } = await ask(url, await make());
    expect(status).toBe(401);
    expect(text).toContain('unknown_certificate');
  });

  it.each(['optional', 'required'] as const)(
    'is refused with the connection where it does not hold: %s',
    async (clients) => {
      const revoked = await ca.issue({ uris: [SPIFFE] });
      const { url } = await openWorld({ clients, crl: await ca.revoke([revoked.serial]) });
      const expired = await ca.issue({ uris: [SPIFFE], expiresIn: -3_600_000 });
      const foreign = await foreignCa.issue({ uris: [SPIFFE] });
      expect((await ask(url, planner)).status).toBe(200);
      for (const bad of [revoked, expired, foreign]) await expect(ask(url, bad)).rejects.toThrow();
    },
  );

  it('is not needed where it is optional: other credentials count, and none is 401', async () => {
    const { url } = await openWorld();
    expect((await ask(url, undefined)).status).toBe(401);
    const headers = { authorization: `Bearer ${KEY}` };
    expect((await ask(url, undefined, { headers })).status).toBe(200);
    const wrong = { authorization: 'Bearer wrong-key-0123456789abcdef' };
    expect((await ask(url, planner, { headers: wrong })).status).toBe(401);
  });

  it('is needed where it is required', async () => {
    const { url } = await openWorld({ clients: 'required' });
    const headers = { authorization: `Bearer ${KEY}` };
    await expect(ask(url, undefined, { headers })).rejects.toThrow();
  });

  it('is ignored where it is not asked for', async () => {
    const { url } = await openWorld({ clients: 'none' });
    expect((await ask(url, planner)).status).toBe(401);
  });

  it('[G14] opens WebSockets and A2A on the same port', async () => {
    const { url } = await openWorld({ clients: 'required' });
    const { certificate: cert, key } = planner;
    const about = { ca: ca.certificate, cert, key };
    const socket = new WebSocket(`${url.replace('https', 'wss')}/mcp/ws`, ['mcp'], about);
    await once(socket, 'open');
    socket.terminate();
    const card = await ask(url, planner, { path: '/a2a/percy/.well-known/agent-card.json' });
    expect(card.status).toBe(200);
    expect(card.text).toContain(`${url}/a2a/percy`);
    const refused = new WebSocket(`${url.replace('https', 'wss')}/mcp/ws`, ['mcp'], {
      ca: ca.certificate,
    });
    await expect(once(refused, 'open')).rejects.toThrow();
  });

  it('is asked for under the names of the certificate of the gateway', async () => {
    const { url } = await openWorld();
    const { port } = new URL(url);
    const at = (host: string) => ask(url, planner, { headers: { host: `${host}:${port}` } });
    expect((await at('gw.example')).status).toBe(200);
    expect((await at('evil.example')).status).toBe(403);
  });
});

describe('the certificate of the gateway', () => {
  it('is replaced under load without a failed request', async () => {
    const { url, write } = await openWorld();
    const next = await ca.issue({ name: 'gateway', dns: ['localhost'], ips: ['127.0.0.1'] });
    const kept = new Agent({ keepAlive: true, maxSockets: 2 });
    onTestFinished(() => kept.destroy());
    const seen = new Set<string | undefined>();
    let failed = 0;
    let served = 0;
    const load = async (agent?: Agent) => {
      while (!seen.has('done')) {
        await ask(url, planner, agent ? { agent } : {}).then(
          ({ status, serial }) => {
            served += 1;
            if (status !== 200) failed += 1;
            if (!agent) seen.add(serial?.toLowerCase());
          },
          () => {
            failed += 1;
          },
        );
      }
    };
    const work = [load(), load(), load(kept), load(kept)];
    await expect.poll(() => served).toBeGreaterThan(20);
    await write('cert.pem', next.certificate);
    await write('key.pem', next.key);
    await expect.poll(() => seen.has(next.serial.toLowerCase())).toBe(true);
    const before = served;
    await expect.poll(() => served - before).toBeGreaterThan(20);
    seen.add('done');
    await Promise.all(work);
    expect(failed).toBe(0);
  });

  it('stays as it was while the new files do not belong together', async () => {
    const { url, write, lines } = await openWorld();
    const next = await ca.issue({ dns: ['localhost'], ips: ['127.0.0.1'] });
    await write('cert.pem', next.certificate);
    await expect.poll(() => lines.join()).toContain('were not taken');
    expect((await ask(url, planner)).serial?.toLowerCase()).toBe(server.serial.toLowerCase());
    await write('key.pem', next.key);
    await expect.poll(() => lines.join()).toContain('were replaced');
    expect((await ask(url, planner)).serial?.toLowerCase()).toBe(next.serial.toLowerCase());
  });

  it('is not used with a foreign key, and a text that is none stops the start', async () => {
    const config = (certificate: string, key: string) => ({
      config: {
        certificate: new Secret('env:C', certificate),
        key: new Secret('env:K', key),
        client_certificates: 'none' as const,
      },
      folder: '.',
      log: {} as never,
    });
    for (const [certificate, key] of [
      [server.certificate, planner.key],
      [server.certificate, 'no key'],
      ['no certificate', server.key],
    ] as const) {
      await expect(TlsFiles.open(config(certificate, key))).rejects.toMatchObject({
        code: 'BAD_INPUT',
        details: { reason: 'bad_certificate' },
      });
    }
  });

  it('is not spoken to without encryption, nor below TLS 1.2', async () => {
    const { url } = await openWorld();
    await expect(fetch(url.replace('https', 'http'))).rejects.toThrow();
    const { port } = new URL(url);
    const old = tlsConnect({ port: Number(port), ca: ca.certificate, maxVersion: 'TLSv1.1' });
    await expect(once(old, 'secureConnect')).rejects.toThrow();
  });
});

describe('a revocation list', () => {
  it('is read again when it changes, and ends connections of whom it names', async () => {
    const { url, write, lines } = await openWorld({ crl: await ca.revoke([]) });
    const kept = new Agent({ keepAlive: true });
    onTestFinished(() => kept.destroy());
    expect((await ask(url, planner, { agent: kept })).status).toBe(200);
    await write('crl.pem', await ca.revoke([planner.serial]));
    await expect.poll(() => lines.join()).toContain('were replaced');
    await expect(ask(url, planner, { agent: kept })).rejects.toThrow();
    await expect(ask(url, planner)).rejects.toThrow();
  });
});

describe('names of a certificate', () => {
  it('are read one by one; odd ones count for nothing', async () => {
    const { X509Certificate } = await import('node:crypto');
    const leaf = await ca.issue({
      name: 'n',
      dns: ['a.example', 'x, URI:spiffe://b/c'],
      uris: [SPIFFE],
    });
    expect(toClientCertificate(new X509Certificate(leaf.certificate))).toMatchObject({
      names: ['DNS:a.example', `URI:${SPIFFE}`],
      subject: 'n',
      thumbprint: expect.stringMatching(/^[\w-]{43}$/),
    });
  });
});

describe('listen.tls and auth.mtls', () => {
  it('warn of a private key that others can read, not of certificates', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'starloom.yaml');
    const files = { 'c.pem': server.certificate, 'k.pem': server.key, 'ca.pem': ca.certificate };
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(folder.path, name), text, { mode: 0o644 });
    }
    const tls = { certificate: 'file:c.pem', key: 'file:k.pem', client_ca: 'file:ca.pem' };
    await writeFile(path, JSON.stringify({ listen: { tls } }));
    const { warnings } = await loadGatewayConfig({ path, env: {}, cwd: folder.path });
    expect(warnings.map(({ key }) => key)).toEqual(['listen.tls.key']);
  });

  const tls = { certificate: 'file:c.pem', key: 'file:k.pem' };
  const mtls = [{ spiffe: SPIFFE, principal: 'p' }];
  const asks = { ...tls, client_ca: 'file:ca.pem', client_certificates: 'required' };
  it.each<[string, object, boolean]>([
    ['a certificate and its key', { listen: { tls } }, true],
    ['rules, and clients that are asked', { listen: { tls: asks }, auth: { mtls } }, true],
    ['a certificate without a key', { listen: { tls: { certificate: 'file:c.pem' } } }, false],
    ['a key in the file', { listen: { tls: { ...tls, key: '-----BEGIN' } } }, false],
    [
      'clients without a CA',
      { listen: { tls: { ...tls, client_certificates: 'optional' } } },
      false,
    ],
    ['rules without asking', { listen: { tls }, auth: { mtls } }, false],
    [
      'a rule without a name',
      { listen: { tls: asks }, auth: { mtls: [{ principal: 'p' }] } },
      false,
    ],
    [
      'a rule with two names',
      { listen: { tls: asks }, auth: { mtls: [{ ...mtls[0], subject: 'x' }] } },
      false,
    ],
  ])('take %s: %#', (_, config, isTaken) => {
    expect(gatewayConfigSchema.safeParse(config).success).toBe(isTaken);
  });
});
