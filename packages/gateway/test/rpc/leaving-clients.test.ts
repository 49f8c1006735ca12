import type { Coordination } from '@starloom/coordination';
import { silentLog } from '@starloom/core';
import { LOCAL_PRINCIPAL } from '@starloom/identity';
import { expect, it } from 'vitest';
import { type MessageChannel, serveRpcChannel } from '../../src/index.ts';
import { startRequest } from '../observe/support/observed.ts';

const CLIENTS = 40;

it('clients that leave at once are cleaned up over many turns of the event loop', async () => {
  const perTurn = [0];
  let isOver = false;
  const count = () => {
    perTurn.push(0);
    if (!isOver) setImmediate(count);
  };
  const peer = {
    async close() {
      perTurn[perTurn.length - 1] = (perTurn.at(-1) ?? 0) + 1;
      const end = performance.now() + 1;
      while (performance.now() < end);
    },
  };
  const coordination = { connect: () => peer } as unknown as Coordination;
  const leave: (() => void)[] = [];
  const channel: MessageChannel = {
    open: (_, onClose) => leave.push(onClose),
    write: () => {},
    flushed: async () => {},
    close: async () => {},
  };
  const options = {
    coordination,
    principal: LOCAL_PRINCIPAL,
    log: silentLog,
    observe: startRequest,
  };
  const served = Array.from({ length: CLIENTS }, () => serveRpcChannel(channel, options));
  setImmediate(count);
  // In one turn, each as an event of its own.
  for (const each of leave) setImmediate(each);
  await Promise.all(served);
  isOver = true;
  expect(perTurn.reduce((sum, closed) => sum + closed, 0)).toBe(CLIENTS);
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(CLIENTS / 4);
});
