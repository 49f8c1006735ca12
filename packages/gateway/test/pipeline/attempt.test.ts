import { type Adapter, type EventBody, ResultFold, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { expect, it } from 'vitest';
import { readEvents } from '../../src/pipeline/attempt.ts';

const FLOOD = 40;

it('[G9] serves the result of one caller before the last of many that came with it', async () => {
  const agent = Promise.withResolvers<void>();
  const adapter: Pick<Adapter, 'call'> = {
    async *call(): AsyncGenerator<EventBody> {
      await agent.promise;
      yield { type: 'final', data: { answer: 'done' } };
    },
  };
  const served: string[] = [];
  const call = async (principal_id: string) => {
    const { signal } = new AbortController();
    const until = <T>(promise: Promise<T>) => promise;
    const context = { signal, until, log: silentLog, terms: { fold: new ResultFold() } };
    await readEvents(
      adapter as Adapter,
      exampleEnvelope('hello', { auth: { mode: 'psk', principal_id } }),
      context as Parameters<typeof readEvents>[2],
      1_000,
    );
    work(1);
    served.push(principal_id);
  };
  const calls = [...Array.from({ length: FLOOD }, () => call('flood')), call('ordinary')];
  agent.resolve();
  await Promise.all(calls);
  expect(served).toHaveLength(FLOOD + 1);
  expect(served.indexOf('ordinary')).toBeLessThan(FLOOD / 2);
});

function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}
