// The runtime as anybody opens it: guard, trust check, signed record of decisions, events and budgets
// on. Without a state folder sessions live in memory.

import { type Agent, openAgent } from '@starloom/runtime';
import { defineTool, type IProvider } from '@starloom/sdk';
import { assertAnswer, type Loop } from './loop.ts';
import type { Work } from './plan.ts';
import { ANSWER, QUESTION, SYSTEM_PROMPT, TOOL } from './script.ts';

export interface StarloomLoopOptions {
  readonly work: Work;
  /** Keeps sessions there. */
  readonly stateFolder?: string | undefined;
  /** In place of the scripted one. */
  readonly provider?: IProvider;
}

export async function openStarloomLoop(options: StarloomLoopOptions): Promise<Loop> {
  const agent = await open(options);
  return {
    open() {
      let session: { readonly sessionId?: string } = {};
      return {
        async turn() {
          const { segments, sessionId } = await agent.turn(QUESTION, session);
          session = { sessionId };
          assertAnswer(segments[0]?.text, ANSWER);
        },
      };
    },
    [Symbol.asyncDispose]: () => agent.close(),
  };
}

function open({ work, stateFolder, provider }: StarloomLoopOptions): Promise<Agent> {
  const call = { type: 'tool_call' as const, toolCall: { name: TOOL.name, args: TOOL.args } };
  const script = work === 'tool' ? [[call], ANSWER] : [ANSWER];
  return openAgent({
    config: {
      agent: {
        name: 'bench',
        system_prompt: SYSTEM_PROMPT,
        ...(!provider && { provider: { kind: 'scripted', script, cycle: true } }),
      },
      folder: import.meta.dirname,
    },
    tools: [defineTool({ ...TOOL, effect: 'read', execute: TOOL.run })],
    ...(stateFolder !== undefined && { stateFolder }),
    ...(provider && { provider }),
  });
}
