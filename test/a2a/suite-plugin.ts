// A model for an agent of the runtime under the A2A suites: it does what the id of the message says, as the
// official suite writes them. Given to `starloom agent run` as a plugin.

import { setTimeout as pause } from 'node:timers/promises';
import {
  AgentPainException,
  type ContentSegment,
  defineTool,
  type IAgentContext,
  type Plugin,
  type ProviderEvent,
} from '@starloom/sdk';

type Act = (context: IAgentContext) => AsyncIterable<ProviderEvent>;

/** Longer than any suite waits before it subscribes. */
const LONG_MS = 4_000;
const FILE = { type: 'file', name: 'output.txt', mimeType: 'text/plain' } as const;

/** Asks until something is said that is not just for the record. */
const ask = defineTool({
  name: 'suite:ask',
  description: 'Asks the caller.',
  effect: 'read',
  parameters: { type: 'object' },
  async execute(_, context) {
    for (;;) {
      const said = await context.ask?.('Go on?');
      if (!said?.startsWith('TCK history')) return `done: ${said}`;
    }
  },
});

/** By the beginning of the id; the first that fits. */
const ACTS: readonly (readonly [string, Act])[] = [
  ['tck-artifact-file-url', makes({ ...FILE, data: 'https://example.com/output.txt' })],
  ['tck-artifact-file', makes({ ...FILE, data: btoa('tck') })],
  ['tck-artifact-text', says('Generated text content')],
  ['tck-artifact-data', makes({ type: 'ui', ui: { key: 'value', count: 42 } })],
  ['tck-stream-artifact-file', makes({ ...FILE, data: btoa('tck') })],
  ['tck-stream-artifact-chunked', says('chunk-1 ', 'chunk-2')],
  ['tck-stream', says('Stream hello from TCK')],
  ['tck-message-response', repliesWith('Direct message response')],
  ['tck-input-required', asks],
  ['tck-reject-task', fails],
  ['test-resubscribe-message-id', works],
];

const plugin: Plugin = {
  name: 'suite',
  setup: () => ({
    tools: [ask],
    providers: [
      {
        name: 'suite',
        readsBlocks: true,
        generate: () => Promise.reject(new Error('it streams')),
        stream: (_, context) => actFor(context)(context),
      },
    ],
  }),
};

export default plugin;

function actFor({ task }: IAgentContext): Act {
  const found = ACTS.find(([prefix]) => task?.messageId.startsWith(prefix));
  return found?.[1] ?? says('Hello from TCK');
}

function says(...texts: readonly string[]): Act {
  return async function* () {
    for (const text of texts) yield { type: 'text', text };
  };
}

function makes(segment: ContentSegment): Act {
  return async function* () {
    yield { type: 'segment', segment };
  };
}

function repliesWith(text: string): Act {
  return async function* () {
    yield { type: 'text', text };
    yield { type: 'finish', metadata: { reply: 'message' } };
  };
}

async function* asks({ blocks = [] }: IAgentContext): AsyncIterable<ProviderEvent> {
  if (blocks.at(-1)?.role === 'tool') yield { type: 'text', text: 'done' };
  else {
    const toolCall = { id: 'ask', name: ask.name, args: {} };
    yield { type: 'segment', segment: { type: 'tool_call', toolCall } };
  }
}

// biome-ignore lint/correctness/useYield: it says nothing before it fails
async function* fails(): AsyncIterable<ProviderEvent> {
  throw new AgentPainException('rejected');
}

async function* works({ signal }: IAgentContext): AsyncIterable<ProviderEvent> {
  yield { type: 'text', text: 'working ' };
  await pause(LONG_MS, undefined, signal ? { signal } : {});
  yield { type: 'text', text: 'done' };
}
