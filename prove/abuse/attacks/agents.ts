// Attacks by what an agent answers. The attacker is also a caller, so that the gateway has to look at it.

import { setTimeout as delay } from 'node:timers/promises';
import { type Attack, Counts, loops, problemsIf, type Target } from '../attack.ts';
import { HOSTILE_TOOLS, worstArguments } from '../hostile-mcp.ts';
import { post, readCalled, toBody, toolCall } from '../http-client.ts';

const LISTED_BYTES = 1024 ** 2;
const STREAMS = 40;
const DEEPEST = 5;

export const hostileSchemas: Attack = {
  about: 'schemas that take exponential time, and calls that meet them',
  agents: ['schemas'],
  async run(target) {
    const counts = new Counts();
    await loops(target, HOSTILE_TOOLS.length, async (turn) => {
      const tool = HOSTILE_TOOLS[turn % HOSTILE_TOOLS.length] ?? 'pattern';
      counts.add(`${tool}_${await call(target, 'schemas', tool, worstArguments(tool))}`);
    });
    return { operations: counts.total, counts: counts.counts, problems: [] };
  },
};

export const changingSchemas: Attack = {
  about: 'an agent whose schemas are others in every list, and calls to it',
  agents: ['changing'],
  async run(target) {
    const counts = new Counts();
    await loops(target, 4, async (turn) => {
      counts.add(await call(target, 'changing', `tool${turn % 20}`, {}));
    });
    return { operations: counts.total, counts: counts.counts, problems: [] };
  },
};

export const largeAnswers: Attack = {
  about: 'answers of 10 MB with a million keys',
  agents: ['answers'],
  isProxied: true,
  async run(target) {
    const counts = new Counts();
    await loops(target, 2, async () => counts.add(await call(target, 'answers', 'answer', {})));
    return { operations: counts.total, counts: counts.counts, problems: [] };
  },
};

export const largeDescriptions: Attack = {
  about: 'a description of 10 MB, and one with control characters',
  agents: ['descriptions'],
  async run(target) {
    const counts = new Counts();
    let most = 0;
    let isPainted = false;
    await loops(target, 2, async () => {
      const body = toBody('tools/list', {});
      const { status, text } = await post(target.url, { key: target.ordinaryKey, body });
      counts.add(`status_${status}`);
      most = Math.max(most, text.length);
      isPainted ||= /\\u001b|\\u202e|\u202e/i.test(text);
      await delay(20);
    });
    return {
      operations: counts.total,
      counts: { ...counts.counts, listed_bytes: most },
      problems: problemsIf({
        'a list of tools is longer than 1 MiB': most > LISTED_BYTES,
        'control characters of an agent are listed': isPainted,
      }),
    };
  },
};

export const tokenStreams: Attack = {
  about: `${STREAMS} streams of tokens as fast as the agent can write`,
  agents: ['tokens'],
  isProxied: true,
  async run(target) {
    const counts = new Counts();
    const timeout_ms = Math.max(1, target.seconds) * 1_000;
    const args = { agent_id: 'tokens', capability: 'speak', stream: true, timeout_ms };
    const body = toolCall(
      'fabric.call',
      { ...args, deadline_ms: timeout_ms },
      { progressToken: 1 },
    );
    const stream = async () => {
      const { status } = await post(target.url, {
        key: target.key,
        body,
        timeoutMs: timeout_ms + 2_000,
      });
      counts.add(`status_${status}`);
    };
    await Promise.all(Array.from({ length: STREAMS }, stream));
    return { operations: counts.total, counts: counts.counts, problems: [] };
  },
};

export const droppedHeaders: Attack = {
  about: 'an agent that calls itself through the gateway and drops trace and depth',
  agents: ['looper'],
  async run(target) {
    const counts = new Counts();
    let deepest = 0;
    await loops(target, 2, async () => {
      const args = { agent_id: 'looper', capability: 'loop', task: target.url, timeout_ms: 10_000 };
      const body = toolCall('fabric.call', args);
      const called = readCalled(await post(target.url, { key: target.key, body }));
      counts.add(called?.ok ? 'ok' : (called?.error?.code ?? 'unanswered'));
      deepest = Math.max(deepest, Number(called?.result?.answer ?? 0));
    });
    return {
      operations: counts.total,
      counts: { ...counts.counts, deepest },
      problems: problemsIf({
        [`an agent went ${deepest} deep`]: deepest > DEEPEST,
        'the agent was never called': deepest === 0,
      }),
    };
  },
};

/** The code it was answered with, `ok`, or `unanswered`. */
async function call(
  { url, key }: Target,
  agent_id: string,
  capability: string,
  args: object,
): Promise<string> {
  const body = toolCall('fabric.call', { agent_id, capability, arguments: args });
  const called = readCalled(await post(url, { key, body, timeoutMs: 60_000 }));
  if (called === undefined) return 'unanswered';
  return called.ok ? 'ok' : (called.error?.code ?? 'refused');
}
