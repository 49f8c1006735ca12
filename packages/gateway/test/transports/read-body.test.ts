import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openCount } from '../../src/transports/frame.ts';
import { BodyBudget, isGone, readBody } from '../../src/transports/read-request.ts';

const LIMIT = 8 * 1024 ** 2;

/** Sends a body, and gives the request as the server sees it. */
async function openUpload(declared: number) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sending = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    headers: { 'content-length': declared },
  });
  sending.on('error', () => {});
  sending.flushHeaders();
  const [incoming] = (await once(server, 'request')) as [IncomingMessage];
  return {
    sending,
    incoming,
    [Symbol.asyncDispose]: async () => {
      sending.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const WITHOUT_TURNS = { begin: () => undefined, proceed: () => {}, pace: () => undefined };

describe('a large body', () => {
  it('is read on only when it is its turn', async () => {
    const text = 'x'.repeat(4 * 1024 ** 2);
    await using upload = await openUpload(text.length);
    const { incoming, sending } = upload;
    const turns: (() => void)[] = [];
    const body = readBody(incoming, {
      limit: LIMIT,
      share: new BodyBudget().open('ann'),
      begin: () => undefined,
      proceed: () => {},
      pace: () => new Promise((resolve) => turns.push(resolve)),
    });
    sending.end(text);
    let taken = 0;
    let isRead = false;
    void body.then(() => {
      isRead = true;
    });
    while (!isRead) {
      await nextTurn();
      const resume = turns.shift();
      if (!resume) continue;
      taken += 1;
      expect(incoming.isPaused()).toBe(true);
      expect(turns).toEqual([]);
      resume();
    }
    expect(await body).toBe(text);
    expect(taken).toBeGreaterThan(10);
  });

  it('[G9] that exceeds a limit of JSON is refused before all of it has come', async () => {
    const text = `[${'{},'.repeat(1_000_000)}{}]`;
    await using upload = await openUpload(text.length);
    const { incoming, sending } = upload;
    const budget = new BodyBudget();
    const body = readBody(incoming, {
      limit: LIMIT,
      share: budget.open('ann'),
      ...WITHOUT_TURNS,
      count: openCount(),
    });
    sending.write(text.slice(0, text.length / 2));
    const error = FabricError.from(await body.catch((cause: unknown) => cause));
    expect(error.details.reason).toBe('too_many_values');
    expect(incoming.isPaused()).toBe(true);
    // What it held was given back.
    budget.take('ann', 64 * 1024 ** 2);
  });

  it('counts as all that it declares when much of it has come', async () => {
    await using upload = await openUpload(LIMIT);
    const { incoming, sending } = upload;
    const budget = new BodyBudget();
    budget.take('ann', 64 * 1024 ** 2 - LIMIT / 2);
    const body = readBody(incoming, {
      limit: LIMIT,
      share: budget.open('ann'),
      ...WITHOUT_TURNS,
    });
    sending.write('x'.repeat(LIMIT / 4));
    const error = FabricError.from(await body.catch((cause: unknown) => cause));
    expect(error.details.reason).toBe('bodies_in_progress');
    budget.take('ann', LIMIT / 2);
  });

  it('whose client leaves while it waits for its turn is given up', async () => {
    await using upload = await openUpload(LIMIT);
    const { incoming, sending } = upload;
    const waits = Promise.withResolvers<void>();
    const turn = Promise.withResolvers<void>();
    const body = readBody(incoming, {
      limit: LIMIT,
      share: new BodyBudget().open('ann'),
      begin: () => undefined,
      proceed: () => {},
      pace: () => {
        waits.resolve();
        return turn.promise;
      },
    });
    sending.write('x'.repeat(1024 ** 2));
    await waits.promise;
    sending.destroy();
    turn.resolve();
    const error = await body.catch((cause: unknown) => cause);
    expect(isGone(error)).toBe(true);
  });
});
