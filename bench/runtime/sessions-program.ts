// Many sessions at once in a process of its own, so that its memory is that of one loop alone. Each
// asks a model that thinks for a while, calls a tool, and asks again. Prints one line of JSON.

import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { IProvider } from '@starloom/sdk';
import { openGenerateTextLoop } from './generate-text-loop.ts';
import type { Loop } from './loop.ts';
import type { SessionsResult } from './measure-sessions.ts';
import { ANSWER, TOOL } from './script.ts';
import { openStarloomLoop } from './starloom-loop.ts';

const { values } = parseArgs({
  options: {
    loop: { type: 'string' },
    sessions: { type: 'string', default: '1000' },
    'think-ms': { type: 'string', default: '100' },
  },
});
const sessions = Number(values.sessions);
const thinkMs = Number(values['think-ms']);

process.stdout.write(`${JSON.stringify(await measure())}\n`);

async function measure(): Promise<SessionsResult> {
  const load = { asked: 0, inFlight: 0 };
  /** When the last of them asks for the first time, all of them are waiting. */
  const think = async () => {
    load.asked += 1;
    if (load.asked === sessions) load.inFlight = heapBytes();
    await delay(thinkMs);
  };
  await using loop = await openLoop(think);
  await loop.open().turn();
  load.asked = 0;
  const before = heapBytes();
  const cpu = process.cpuUsage();
  const started = performance.now();
  const conversations = Array.from({ length: sessions }, () => loop.open());
  const turns = await Promise.allSettled(conversations.map((conversation) => conversation.turn()));
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  const failed = turns.filter(({ status }) => status === 'rejected');
  return {
    ms,
    cpuMs: (user + system) / 1000,
    finished: turns.length - failed.length,
    inFlightBytes: (load.inFlight - before) / sessions,
    afterBytes: (heapBytes() - before) / sessions,
    residentMegabytes: process.memoryUsage.rss() / 2 ** 20,
    ...(failed[0]?.status === 'rejected' && { failure: String(failed[0].reason) }),
  };
}

function openLoop(think: () => Promise<void>): Promise<Loop> {
  if (values.loop === 'generate_text') return openGenerateTextLoop({ work: 'tool', think });
  return openStarloomLoop({ work: 'tool', provider: slowProvider(think) });
}

function slowProvider(think: () => Promise<void>): IProvider {
  return {
    name: 'slow',
    readsBlocks: true,
    async generate(_prompt, { blocks = [] }) {
      await think();
      if (blocks.at(-1)?.role === 'tool') return { segments: [{ type: 'text', text: ANSWER }] };
      const toolCall = { name: TOOL.name, args: TOOL.args };
      return { segments: [{ type: 'tool_call', toolCall }] };
    },
  };
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
