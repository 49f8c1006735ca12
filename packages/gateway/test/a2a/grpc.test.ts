import { decodeErrorInfo, decodeStatus } from '@a2a-js/sdk/errors/grpc';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { Secret } from '@starloom/config';
import { createPskVerifier } from '@starloom/identity';
import { describe, expect, it } from 'vitest';
import { selfSigned } from '../../../adapters/test/fixtures/self-signed.ts';
import { gatewayConfigSchema } from '../../src/index.ts';
import { answers, KEY, openTestGateway, type TestAgent } from '../test-gateway.ts';
import { collect, connectA2a, EVERY_WAY, message, send } from './a2a-client.ts';
import { request } from './raw.ts';

const config = EVERY_WAY;
const LIMITED_KEY = 'limited-key-0123456789abc';
const agents = { percy: { run: answers('42') }, quinn: { run: answers('43') } };

/** Where a gateway serves gRPC, by its card. */
async function addressOf(url: string): Promise<string> {
  const { body } = await request(`${url}/a2a/percy/.well-known/agent-card.json`, 'GET');
  const offered = body.supportedInterfaces.find(
    (one: { protocolBinding: string }) => one.protocolBinding === 'GRPC',
  );
  expect(offered).toMatchObject({ protocolVersion: '1.0', tenant: 'percy' });
  return offered.url;
}

interface Sent {
  readonly method?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly bytes?: Uint8Array;
}

const NOTHING = new Uint8Array();

/** One call with bytes of our choice; what it failed with. */
async function call(
  address: string,
  { method = 'GetTask', metadata = {}, bytes = NOTHING }: Sent = {},
): Promise<ServiceError | undefined> {
  using client = Object.assign(new Client(address, credentials.createInsecure()), {
    [Symbol.dispose]: () => client.close(),
  });
  const sent = new Metadata();
  for (const [name, value] of Object.entries(metadata)) sent.set(name, String(value));
  return await new Promise((resolve) => {
    const path = `/lf.a2a.v1.A2AService/${method}`;
    const deadline = { deadline: Date.now() + 20_000 };
    client.makeUnaryRequest(
      path,
      Buffer.from,
      (raw) => raw,
      bytes,
      sent,
      deadline,
      (error) => resolve(error ?? undefined),
    );
  });
}

const reasonOf = (error: ServiceError | undefined) => {
  const [raw] = error?.metadata.get('grpc-status-details-bin') ?? [];
  const [info] = decodeStatus(Buffer.from(raw ?? '')).details;
  return decodeErrorInfo(Buffer.from(info?.value ?? '')).reason;
};

const named = { authorization: `Bearer ${KEY}`, 'a2a-version': '1.0' };

describe('A2A over gRPC', () => {
  it('AUTH-SERVER-002: refuses a call without a key before its message, whatever it is', async () => {
    await using gateway = await openTestGateway(agents, { config });
    const address = await addressOf(gateway.url);
    const garbage = new Uint8Array([255, 255, 255]);
    for (const metadata of [{}, { authorization: 'Bearer wrong-key-0123456789' }]) {
      const error = await call(address, { metadata, bytes: garbage });
      expect(error?.code).toBe(status.UNAUTHENTICATED);
      expect(reasonOf(error)).toBe('AUTH_DENIED');
    }
    const known = await call(address, { metadata: named, bytes: garbage });
    expect(known?.code).toBe(status.INTERNAL);
  });

  it('AUTH-SCOPE-003: an agent that the caller may not use is one that is not there', async () => {
    const scopes = ['agent:percy'];
    const key = {
      key_id: 'a',
      key: LIMITED_KEY,
      principal: 'limited',
      tier: 'org',
      scopes,
    } as const;
    const all = { key_id: 'b', key: KEY, principal: 'all', tier: 'org', scopes: ['*'] } as const;
    const psk = createPskVerifier([key, all]);
    await using gateway = await openTestGateway(agents, { config, psk });
    const address = await addressOf(gateway.url);
    const metadata = { ...named, authorization: `Bearer ${LIMITED_KEY}` };
    const ask = async (tenant: string) => {
      const bytes = encode({ tenant, id: 'x' });
      const { code, details } = (await call(address, { metadata, bytes })) ?? {};
      return { code, details };
    };
    const hidden = await ask('quinn');
    expect(hidden).toEqual(await ask('nobody'));
    expect(hidden.code).toBe(status.NOT_FOUND);
    expect((await ask('percy')).details).not.toBe(hidden.details);
  });

  it('GRPC-ERR-001, 002, META-001: errors have their codes and ErrorInfo, versions are metadata', async () => {
    await using gateway = await openTestGateway(agents, { config });
    const address = await addressOf(gateway.url);
    const unknown = await call(address, {
      metadata: named,
      bytes: encode({ tenant: '', id: 'x' }),
    });
    expect([unknown?.code, reasonOf(unknown)]).toEqual([status.NOT_FOUND, 'TASK_NOT_FOUND']);
    for (const version of ['', '0.3', '9.0']) {
      const metadata = { ...named, 'a2a-version': version };
      const refused = await call(address, { metadata, bytes: encode({ tenant: '', id: 'x' }) });
      expect(refused?.code).toBe(status.FAILED_PRECONDITION);
      expect(reasonOf(refused)).toBe('VERSION_NOT_SUPPORTED');
    }
    const nothing = await call(address, { method: 'Nothing', metadata: named });
    expect(nothing?.code).toBe(status.UNIMPLEMENTED);
  });

  it('refuses what is too large or nested too deep, and goes on', async () => {
    const limited = { ...config, limits: { body_bytes: 2_000_000 } };
    await using gateway = await openTestGateway(agents, { config: limited });
    const address = await addressOf(gateway.url);
    const large = await call(address, { metadata: named, bytes: new Uint8Array(3_000_000) });
    expect(large?.code).toBe(status.RESOURCE_EXHAUSTED);
    for (const depth of [50_000, 100]) {
      const bytes = nested(depth);
      const deep = await call(address, { method: 'SendMessage', metadata: named, bytes });
      expect(deep?.details).toMatch(depth === 100 ? /nested deeper/ : /./);
    }
    const client = await connectA2a(gateway.url, { binding: 'GRPC' });
    expect((await send(client, message('x'))).status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('ends a stream that is cancelled, and not its task', async () => {
    const gate = Promise.withResolvers<void>();
    const run: TestAgent['run'] = async function* () {
      yield { type: 'token', data: { text: 'a' } };
      await gate.promise;
      yield { type: 'final', data: { answer: 'ab' } };
    };
    await using gateway = await openTestGateway({ percy: { run } }, { config });
    const client = await connectA2a(gateway.url, { binding: 'GRPC' });
    const stop = new AbortController();
    const stream = client.sendMessageStream(message('x'), { signal: stop.signal });
    const { value } = await stream.next();
    const id = value?.payload?.$case === 'task' ? value.payload.value.id : '';
    stop.abort();
    await expect(collect(stream)).rejects.toThrow();
    const following = client.resubscribeTask({ tenant: '', id });
    await following.next();
    gate.resolve();
    const items = await collect(following);
    expect(items.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('answers what was accepted while the gateway shuts down, and nothing new', async () => {
    const gate = Promise.withResolvers<void>();
    const run: TestAgent['run'] = async function* () {
      await gate.promise;
      yield { type: 'final', data: { answer: 'a' } };
    };
    const gateway = await openTestGateway({ percy: { run } }, { config });
    const address = await addressOf(gateway.url);
    const client = await connectA2a(gateway.url, { binding: 'GRPC' });
    const stream = client.sendMessageStream(message('x'));
    await stream.next();
    const closing = gateway[Symbol.asyncDispose]();
    const refused = await call(address, {
      metadata: named,
      bytes: encode({ tenant: '', id: 'x' }),
    });
    expect(refused?.code).toBe(status.UNAVAILABLE);
    gate.resolve();
    const items = await collect(stream);
    expect(items.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED');
    await closing;
  });

  it('GRPC-SVC-003, AUTH-TLS-001: is encrypted where there is a certificate, and must be beyond loopback', async () => {
    const certificate = new Secret('file:cert.pem', selfSigned.cert);
    const key = new Secret('file:key.pem', selfSigned.key);
    await using gateway = await openTestGateway(agents, { grpcTls: { certificate, key } });
    const channel = credentials.createSsl(Buffer.from(selfSigned.cert));
    // The client names an IP address to TLS, which Node 26 refuses.
    const url = gateway.url.replace('127.0.0.1', 'localhost');
    const client = await connectA2a(url, { binding: 'GRPC', channel });
    expect((await send(client, message('x'))).status.state).toBe('TASK_STATE_COMPLETED');
    const plain = await call(await addressOf(gateway.url), { metadata: named });
    expect(plain?.code).toBe(status.UNAVAILABLE);
    const open = { listen: { host: '0.0.0.0' }, a2a: { grpc: { port: 1 } } };
    expect(gatewayConfigSchema.safeParse(open).error?.issues).toMatchObject([
      { path: ['a2a', 'grpc', 'certificate'] },
    ]);
    const half = { a2a: { grpc: { port: 1, key: 'file:key.pem' } } };
    expect(gatewayConfigSchema.safeParse(half).success).toBe(false);
  });

  it('is not served unless it is configured', async () => {
    await using gateway = await openTestGateway(agents);
    const { body } = await request(`${gateway.url}/a2a/percy/.well-known/agent-card.json`, 'GET');
    expect(JSON.stringify(body)).not.toContain('GRPC');
  });
});

/** Fields 1 and 2 of a request, both texts. */
function encode({ tenant, id }: { tenant: string; id: string }): Uint8Array {
  const field = (number: number, text: string) => {
    const bytes = Buffer.from(text);
    return text === '' ? [] : [(number << 3) | 2, bytes.length, ...bytes];
  };
  return new Uint8Array([...field(1, tenant), ...field(2, id)]);
}

/** A request to send whose metadata is a list in a list in a list … */
function nested(depth: number): Uint8Array {
  const heads: number[][] = [];
  let length = 0;
  const wrap = (number: number) => {
    const head = [(number << 3) | 2, ...varint(length)];
    heads.push(head);
    length += head.length;
  };
  for (let at = 0; at < depth; at += 1) {
    wrap(1);
    wrap(6);
  }
  wrap(2);
  heads.push([10, 1, 107]);
  length += 3;
  wrap(1);
  wrap(4);
  return new Uint8Array(heads.reverse().flat());
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left >>>= 7) bytes.push((left & 127) | 128);
  return [...bytes, left];
}
