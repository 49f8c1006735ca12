import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type JobEngine, silentLog } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { createAddressGuard } from '@starloom/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryJobEngine, WebhookSender } from '../src/index.ts';
import { createJobDriver } from './contract/job-driver.ts';

describe('webhook sender', () => {
  const clock = new ManualClock();
  let engine: JobEngine;
  let received: { headers: IncomingMessage['headers']; body: string }[];
  let status: number;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body });
    response.writeHead(status).end();
  });
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  beforeEach(async () => {
    engine = createMemoryJobEngine(clock);
    received = [];
    status = 204;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const claimHook = async () => {
    const claims = await engine.claim({ purpose: 'webhook', leaseMs: 1_000, limit: 1 });
    return claims[0];
  };
  const endJob = async (secret?: string) => {
    const driver = createJobDriver(engine, () => clock.now());
    const job = await driver.create({ webhook: { url: url(), ...(secret && { secret }) } });
    await driver.succeed(await driver.claimOne(), 'done');
    return job.id;
  };
  const send = async (allow: readonly string[]) => {
    const sender = new WebhookSender({ guard: createAddressGuard({ allow }), log: silentLog });
    const claim = (await claimHook()) ?? expect.fail('no webhook');
    await sender.deliver(claim, engine);
    await sender.close();
  };

  it('posts the job, signed with a timestamp', async () => {
    const id = await endJob('hush');
    await send(['127.0.0.1']);
    const [{ headers, body } = expect.fail('nothing received')] = received;
    expect(JSON.parse(body)).toMatchObject({
      type: 'job.succeeded',
      job: { job_id: id, state: 'succeeded', result: { answer: 'done' } },
    });
    const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const digest = createHmac('sha256', 'hush').update(text).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${digest}`);
    expect(headers['webhook-id']).toBe(id);
    clock.advance(60_000);
    expect(await claimHook()).toBeUndefined();
  });

  it('tries again later when the receiver fails', async () => {
    await endJob();
    status = 500;
    await send(['127.0.0.1']);
    expect(received).toHaveLength(1);
    expect(await claimHook()).toBeUndefined();
    clock.advance(6_000);
    status = 200;
    await send(['127.0.0.1']);
    expect(received).toHaveLength(2);
    clock.advance(600_000);
    expect(await claimHook()).toBeUndefined();
  });

  it('calls no address of our own network, and gives up at once', async () => {
    await endJob();
    await send([]);
    expect(received).toHaveLength(0);
    clock.advance(600_000);
    expect(await claimHook()).toBeUndefined();
  });
});
