import { setImmediate as nextTick } from 'node:timers/promises';
import {
  defineTool,
  type IAgentContext,
  type IProvider,
  type ITool,
  type ProviderResponse,
} from '@starloom/sdk';
import { type Agent, type AgentEvent, type AgentOptions, openAgent } from '../../src/index.ts';

type Answer = string | ProviderResponse;
export type Step =
  | Answer
  | Error
  | ((prompt: string, context: IAgentContext) => Answer | Promise<Answer>);

export interface Asked {
  readonly prompt: string;
  readonly context: IAgentContext;
}

export interface ScriptedProvider extends IProvider {
  /** Every question, in order. */
  readonly asked: Asked[];
}

/** Answers with one step after the other; asked once more than it has, it fails the test. */
export function scripted(...steps: Step[]): ScriptedProvider {
  const asked: Asked[] = [];
  return {
    name: 'test',
    readsBlocks: true,
    asked,
    async generate(prompt, context) {
      const step = steps[asked.length];
      asked.push({ prompt, context });
      if (step === undefined) throw new Error('the script has ended');
      if (step instanceof Error) throw step;
      const answer = typeof step === 'function' ? await step(prompt, context) : step;
      return typeof answer === 'string' ? say(answer) : answer;
    },
  };
}

export function say(text: string, metadata: ProviderResponse['metadata'] = {}): ProviderResponse {
  return { segments: [{ type: 'text', text }], metadata };
}

export function callTools(
  ...calls: { id?: string; name: string; args?: unknown }[]
): ProviderResponse {
  return {
    segments: calls.map(({ args = {}, ...call }) => ({
      type: 'tool_call',
      toolCall: { ...call, args },
    })),
  };
}

/** Harmless, and what it returns is its own. */
export function tool(name: string, execute: ITool['execute'], more: Partial<ITool> = {}): ITool {
  return {
    name,
    description: `Does ${name}.`,
    parameters: { type: 'object' },
    effect: 'read',
    untrusted: false,
    ...more,
    execute,
  };
}

export const echo = defineTool<{ text: string }>({
  name: 'test:echo',
  description: 'Says it again.',
  command: 'echo',
  effect: 'read',
  untrusted: false,
  parameters: {
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  },
  execute: ({ text }) => text,
});

export interface World extends AsyncDisposable {
  readonly agent: Agent;
  readonly events: AgentEvent[];
  eventsOf<Name extends AgentEvent['type']>(
    name: Name,
  ): Extract<AgentEvent, { type: Name }>['data'][];
}

type WorldOptions = Omit<AgentOptions, 'config' | 'path'> & {
  readonly agent?: Record<string, unknown>;
  readonly toml?: NonNullable<AgentOptions['config']>['toml'];
};

export async function openWorld({ agent: more, toml, ...options }: WorldOptions): Promise<World> {
  const agent = await openAgent({
    retry: { attempts: 3, firstWaitMs: 1, longestWaitMs: 2 },
    config: { agent: { name: 'tester', ...more }, folder: '.', ...(toml && { toml }) },
    ...options,
  });
  const events: AgentEvent[] = [];
  agent.bus.onAny((event) => events.push(event));
  return {
    agent,
    events,
    eventsOf: (name) =>
      events.flatMap((event) => (event.type === name ? (event.data as never) : [])),
    [Symbol.asyncDispose]: () => agent.close(),
  };
}

/** Looks again until it holds; the test's own timeout bounds it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await nextTick();
}

export function textOf(segments: readonly { text?: string }[]): string {
  return segments.map(({ text = '' }) => text).join('');
}
