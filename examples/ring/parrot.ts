// A model without a mind of its own: it passes every question on to the next agent, and says what it
// heard. A real one does so when it expects a better answer from another agent.

import { definePlugin, type IProvider } from '@starloom/sdk';
import { z } from 'zod';

export default definePlugin({
  name: 'parrot',
  config: z.strictObject({ name: z.string() }),
  setup: ({ name }) => ({ providers: [parrot(name)] }),
});

function parrot(name: string): IProvider {
  return {
    name: 'parrot',
    readsBlocks: true,
    async generate(_prompt, { blocks = [] }) {
      const [segment] = blocks.at(-1)?.segments ?? [];
      if (segment?.type !== 'tool_result') {
        const toolCall = { name: 'next:ask', args: { prompt: 'Who knows?' } };
        return { segments: [{ type: 'tool_call', toolCall }] };
      }
      const heard = segment.toolResult?.output.map(({ text }) => text).join('');
      return { segments: [{ type: 'text', text: `${name} heard: ${heard}` }] };
    },
  };
}
