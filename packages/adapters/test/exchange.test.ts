import { silentLog } from '@starloom/core';
import { HttpAnswer, streamTurns } from '@starloom/wire';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { readEvents, readItems } from '../src/http/readers.ts';

const LIMITS = { maxResultBytes: 1 << 20, maxStreamBytes: 1 << 24 };

/** An exchange whose answer has begun, and how often it paused undici. */
function openExchange() {
  let pauses = 0;
  const state = { paused: false };
  const controller = Object.assign(state, {
    pause() {
      pauses += 1;
      state.paused = true;
    },
    resume() {
      state.paused = false;
    },
    abort() {},
  }) as unknown as Dispatcher.DispatchController;
  const answer = new HttpAnswer();
  answer.onRequestStart(controller);
  answer.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' });
  const events = readItems(answer, readEvents, {
    limits: LIMITS,
    excerpt: String,
    signal: new AbortController().signal,
    log: silentLog,
  });
  return {
    events,
    pauses: () => pauses,
    send: (text: string) => answer.onResponseData(controller, Buffer.from(text)),
    end: () => answer.onResponseEnd(),
  };
}

/** As when other streams have used up this turn of the event loop. */
function useUpTurn(): void {
  const end = performance.now() + 20;
  streamTurns.enter();
  while (performance.now() < end);
}

const token = (text: string) => `event: token\ndata: {"text":"${text}"}\n\n`;
const FINAL = 'event: final\ndata: {"answer":"done"}\n\n';

describe('an answer that waits for its turn', () => {
  it('is not paused for few bytes: undici would copy all that it holds each time', async () => {
    const { events, send, end, pauses } = openExchange();
    useUpTurn();
    for (let chunk = 0; chunk < 20; chunk += 1) send(token(`${chunk} `).repeat(3));
    send(FINAL);
    end();
    let text = '';
    for await (const body of events) if (body.type === 'token') text += body.data.text;
    expect(text).toBe(Array.from({ length: 20 }, (_, n) => `${n} `.repeat(3)).join(''));
    expect(pauses()).toBe(0);
  });

  it('is paused when more waits than it may', () => {
    const { send, pauses } = openExchange();
    useUpTurn();
    for (let chunk = 0; chunk < 20; chunk += 1) send(token('x'.repeat(8_192)));
    expect(pauses()).toBeGreaterThan(0);
  });

  it('is read to its end before it counts as broken off', async () => {
    const { events, send, end } = openExchange();
    useUpTurn();
    send(token('a') + token('b'));
    end();
    const seen: string[] = [];
    const read = async () => {
      for await (const body of events) seen.push(body.type);
    };
    await expect(read()).rejects.toMatchObject({ details: { reason: 'no_final' } });
    expect(seen).toEqual(['token', 'token']);
  });
});
