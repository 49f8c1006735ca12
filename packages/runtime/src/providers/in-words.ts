// A provider of the standard protocol reads `prompt` and `context.tools`, and knows of no blocks. For it
// the prompt holds the whole conversation: what was said, which tools were called, what came of them. The
// first message of an agent without a system prompt is the prompt as it is.

import type { ContentSegment, IAgentContext, IProvider } from '@starloom/sdk';
import { type PromptMessage, toPrompt } from './to-prompt.ts';

/** The provider itself, if it reads blocks. */
export function inWords(provider: IProvider): IProvider {
  if (provider.readsBlocks) return provider;
  const { name } = provider;
  const stream = provider.stream?.bind(provider);
  return {
    name,
    readsBlocks: true,
    takes: [],
    generate: async (prompt, context) => provider.generate(toWords(prompt, context), context),
    ...(stream && { stream: (prompt, context) => stream(toWords(prompt, context), context) }),
  };
}

function toWords(prompt: string, context: IAgentContext): string {
  // Without tools: their mere presence calls for no notice on foreign words.
  const { system, messages } = toPrompt(prompt, { ...context, tools: new Map() });
  const isFirst = messages.length === 1 && messages[0]?.role === 'user';
  const said = messages.map((message) => linesOf(message, isFirst).join('\n'));
  return [system, ...said].filter((text) => text !== '').join('\n\n');
}

function linesOf(message: PromptMessage, isFirst: boolean): string[] {
  if (message.role === 'tool') {
    return message.results.flatMap(({ name, isError, text, media }) => [
      `${isError ? 'Error' : 'Result'} of ${name}:`,
      ...(text === '' ? [] : [text]),
      ...media.map(toLine),
    ]);
  }
  const lines = message.segments.map(toLine);
  return isFirst ? lines : [message.role === 'user' ? 'User:' : 'You:', ...lines];
}

function toLine({ type, text, toolCall }: ContentSegment): string {
  if (toolCall) return `Call of ${toolCall.name} ${JSON.stringify(toolCall.args)}`;
  return text ?? `[${type}]`;
}
