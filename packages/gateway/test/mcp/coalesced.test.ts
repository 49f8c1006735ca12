import { silentLog } from '@starloom/core';
import { expect, it } from 'vitest';
import { Coalesced } from '../../src/mcp/session-updates.ts';

function open() {
  const sent: string[] = [];
  let room = Promise.withResolvers<void>();
  const notices = new Coalesced(async (key) => {
    sent.push(key);
    await room.promise;
  }, silentLog);
  const makeRoom = async () => {
    room.resolve();
    room = Promise.withResolvers();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { notices, sent, makeRoom };
}

it('makes one notice of all that happens while one is under way, for each key', async () => {
  const { notices, sent, makeRoom } = open();
  for (let n = 0; n < 1_000; n += 1) {
    notices.note('a');
    notices.note('b');
  }
  expect(sent).toEqual(['a', 'b']);
  await makeRoom();
  expect(sent).toEqual(['a', 'b', 'a', 'b']);
  await makeRoom();
  expect(sent).toHaveLength(4);
  notices.note('a');
  expect(sent).toHaveLength(5);
});

it('sends nothing more after it was closed', async () => {
  const { notices, sent, makeRoom } = open();
  notices.note('a');
  notices.note('a');
  notices.close();
  await makeRoom();
  notices.note('b');
  expect(sent).toEqual(['a']);
});

it('goes on after a notice that could not be sent', async () => {
  let tries = 0;
  const notices = new Coalesced(async () => {
    tries += 1;
    throw new Error('gone');
  }, silentLog);
  notices.note('a');
  notices.note('a');
  await expect.poll(() => tries).toBe(2);
  notices.note('a');
  await expect.poll(() => tries).toBe(3);
});
