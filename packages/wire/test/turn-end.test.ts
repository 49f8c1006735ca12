import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { atTurnEnd } from '../src/index.ts';

it('does what is due at the end of the turn, in order and all together', async () => {
  const done: string[] = [];
  atTurnEnd(() => done.push('first'));
  await Promise.resolve();
  atTurnEnd(() => done.push('second'));
  atTurnEnd(() => atTurnEnd(() => done.push('next turn')));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['first', 'second']);
  await turn();
  expect(done).toEqual(['first', 'second', 'next turn']);
});

it('goes on with the others when one throws, and does not hide it', async () => {
  const done: string[] = [];
  const thrown = new Promise((resolve) => {
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.once('uncaughtException', (error) => {
      for (const listener of listeners) process.on('uncaughtException', listener);
      resolve(error);
    });
  });
  atTurnEnd(() => done.push('before'));
  atTurnEnd(() => {
    throw new Error('on purpose');
  });
  atTurnEnd(() => done.push('after'));
  expect(await thrown).toMatchObject({ message: 'on purpose' });
  await expect.poll(() => done).toEqual(['before', 'after']);
});
