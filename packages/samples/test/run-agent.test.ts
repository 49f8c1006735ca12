import type { EventBody } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { SampleAgent } from '../src/agent.ts';
import { runAgent } from '../src/agent.ts';

function talker() {
  const seen = { stopped: false, given: '' };
  const agent: SampleAgent<{ task: string }> = {
    id: 'talker',
    capability: 'talk',
    description: 'Talks',
    input: z.object({ task: z.string().min(2) }),
    output: z.object({}),
    *work({ task }): Generator<EventBody> {
      seen.given = task;
      try {
        while (true) yield { type: 'token', data: { text: task } };
      } finally {
        seen.stopped = true;
      }
    },
  };
  return { agent, seen };
}

describe('running an agent', () => {
  it('stops the work when the signal aborts, and throws its reason', async () => {
    const { agent, seen } = talker();
    const control = new AbortController();
    const reason = new Error('enough');
    const events = runAgent(agent, { task: 'hello' }, control.signal);
    await events.next();
    expect(seen.stopped).toBe(false);
    control.abort(reason);
    await expect(events.next()).rejects.toBe(reason);
    expect(seen.stopped).toBe(true);
  });

  it('stops the work when the consumer leaves', async () => {
    const { agent, seen } = talker();
    const { signal } = new AbortController();
    for await (const event of runAgent(agent, { task: 'hello' }, signal)) {
      expect(event.type).toBe('token');
      break;
    }
    expect(seen).toEqual({ stopped: true, given: 'hello' });
  });

  it('lets others have a turn between two events', async () => {
    const { agent } = talker();
    const { signal } = new AbortController();
    const events = runAgent(agent, { task: 'hello' }, signal);
    let turns = 0;
    const count = setInterval(() => {
      turns += 1;
    }, 0);
    while (turns < 3) await events.next();
    clearInterval(count);
    expect(turns).toBe(3);
  });

  it('refuses input that does not fit before it does any work', async () => {
    const { agent, seen } = talker();
    const { signal } = new AbortController();
    const events = runAgent(agent, { task: 'x' }, signal);
    await expect(events.next()).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'arguments', fix: 'see the input schema of talker' },
    });
    expect(seen.given).toBe('');
  });
});
