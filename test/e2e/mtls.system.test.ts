import { writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ManifestInput } from '@starloom/core';
import {
  createTestCa,
  type IssuedCertificate,
  type TemporaryFolder,
  type TestCa,
  temporaryFolder,
} from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';

const DAY_MS = 86_400_000;
const SPIFFE = 'spiffe://acme.example/gateway/outer';
const LOCAL = { dns: ['localhost'], ips: ['127.0.0.1'] };

const ECHO = `
require('node:readline').createInterface({ input: process.stdin }).once('line', (line) => {
  const { auth } = JSON.parse(line).envelope;
  const answer = auth.mode + ' ' + auth.principal_id;
  console.log(JSON.stringify({ type: 'final', data: { answer } }));
});`;

describe('two gateways that prove themselves by certificates', () => {
  let folder: TemporaryFolder;
  let ca: TestCa;
  let outerCertificate: IssuedCertificate;
  let inner: RunningGateway;
  let outer: RunningGateway;
  let rest: Server | undefined;

  const write = async (name: string, text: string) => {
    const path = join(folder.path, name);
    await writeFile(path, text, { mode: 0o600 });
    return `file:${path}`;
  };

  beforeAll(async () => {
    folder = await temporaryFolder();
    ca = await createTestCa();
    const listening = await ca.issue({ ...LOCAL, expiresIn: 10 * DAY_MS });
    outerCertificate = await ca.issue({ uris: [SPIFFE] });
    const client_ca = await write('ca.pem', ca.certificate);
    inner = await startGateway({
      config: {
        listen: {
          tls: {
            certificate: await write('inner.pem', listening.certificate),
            key: await write('inner-key.pem', listening.key),
            client_ca,
            client_certificates: 'required',
          },
        },
        auth: { mtls: [{ spiffe: 'spiffe://acme.example/gateway/*', principal: 'outer' }] },
      },
      agents: [
        {
          agent_id: 'echo',
          trust_tier: 'org',
          endpoint: { transport: 'process', command: process.execPath, args: ['-e', ECHO] },
          capabilities: [{ name: 'say' }],
        },
      ],
    });
    const tls = {
      certificate: await write('outer.pem', outerCertificate.certificate),
      key: await write('outer-key.pem', outerCertificate.key),
      ca: client_ca,
    };
    const base = inner.url.replace(/\/mcp$/, '');
    const agent = (
      agent_id: string,
      endpoint: Partial<ManifestInput['endpoint']>,
    ): ManifestInput => ({
      agent_id,
      trust_tier: 'org',
      fallback: 'none',
      endpoint: { transport: 'http', ...endpoint },
    });
    outer = await startGateway({
      agents: [
        agent('by-mcp', { uri: inner.url, tls }),
        agent('by-a2a', { uri: `${base}/a2a/echo`, protocol: 'a2a', tls }),
        agent('unproven', { uri: inner.url, tls: { ca: client_ca } }),
        agent('distrusting', {
          uri: inner.url,
          tls: { certificate: tls.certificate, key: tls.key },
        }),
        {
          ...agent('by-http', { uri: await serveRest(listening), protocol: 'http', tls }),
          capabilities: [{ name: 'say' }],
        },
      ],
    });
  });

  /** An agent over HTTP that says whose certificate it saw. */
  const serveRest = async ({ certificate: cert, key }: IssuedCertificate) => {
    const trust = { cert, key, ca: ca.certificate, requestCert: true };
    const server = createServer(trust, (asked, response) => {
      const shown = (asked.socket as TLSSocket).getPeerX509Certificate();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ answer: shown?.subjectAltName ?? 'nobody' }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    rest = server;
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };

  afterAll(async () => {
    rest?.close();
    rest?.closeAllConnections();
    await outer?.[Symbol.asyncDispose]();
    await inner?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const callOuter = async (name: string, args: Record<string, unknown>) => {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${outer.key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(outer.url), { requestInit }));
    try {
      const { structuredContent, content } = await client.callTool({ name, arguments: args });
      return JSON.stringify([structuredContent, content]);
    } finally {
      await client.close();
    }
  };

  it('[G14] the certificate is the principal, towards clients and towards agents over MCP', async () => {
    const call = { agent_id: 'echo', capability: 'say', task: 'hello' };
    expect(await callOuter('by-mcp.fabric.call', call)).toContain('mtls outer');
  });

  it('[G14] and towards agents over A2A and plain HTTP', async () => {
    const about = { capability: 'say', task: 'hello' };
    expect(await callOuter('fabric.call', { ...about, agent_id: 'by-a2a' })).toContain(
      'mtls outer',
    );
    expect(await callOuter('fabric.call', { ...about, agent_id: 'by-http' })).toContain(SPIFFE);
  });

  it.each(['unproven', 'distrusting'])(
    'without one side of the proof there is no call: %s',
    async (agent_id) => {
      const call = { agent_id, capability: 'fabric.call', task: 'x' };
      expect(await callOuter('fabric.call', call)).toContain('AGENT_OFFLINE');
    },
  );

  it('[G14] a replaced certificate is shown to the agent without a restart, and no call fails', async () => {
    const next = await ca.issue({ uris: ['spiffe://acme.example/gateway/second'] });
    const answers = new Set<string>();
    const call = { agent_id: 'by-http', capability: 'say', task: 'hello' };
    await write('outer.pem', next.certificate);
    await write('outer-key.pem', next.key);
    await expect
      .poll(async () => {
        const answer = await callOuter('fabric.call', call);
        answers.add(/spiffe:[^"]+\/(\w+)/.exec(answer)?.[1] ?? answer);
        return [...answers];
      })
      .toContain('second');
    expect(['outer', 'second']).toEqual(expect.arrayContaining([...answers]));
  });

  it('[G14] how long each certificate is valid is a metric, and a line in the log in time', async () => {
    const days = (text: string, name: string) =>
      Number(
        new RegExp(`starloom_certificate_expiry_days\\{certificate="${name}"\\} (\\S+)`).exec(
          text,
        )?.[1],
      );
    const ofOuter = await (await fetch(outer.url.replace(/mcp$/, 'metrics'))).text();
    expect(days(ofOuter, 'agent:by-mcp')).toBeCloseTo(20, 0);
    const ofInner = await get(inner.url.replace(/mcp$/, 'metrics'));
    expect(days(ofInner, 'listen')).toBeCloseTo(10, 0);
    expect(days(ofInner, 'client_ca')).toBeCloseTo(30, 0);
    expect(inner.log.join('\n')).toContain('a certificate expires soon');
    expect(outer.log.join('\n')).not.toContain('a certificate expires soon');
  });

  const get = (url: string) =>
    new Promise<string>((resolve, reject) => {
      const { certificate: cert, key } = outerCertificate;
      request(url, { ca: ca.certificate, cert, key }, async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        resolve(Buffer.concat(chunks).toString());
      })
        .on('error', reject)
        .end();
    });
});
