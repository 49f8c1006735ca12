// The prompts that the suite gets, one of which asks first.

import {
  acceptedContent,
  type ContentBlock,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { PNG } from './media.ts';
import { form } from './questions.ts';

const contextSchema = z.object({ context: z.string() });

export const prompts: readonly Prompt[] = [
  { name: 'test_simple_prompt', description: 'A prompt without arguments' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with arguments',
    arguments: [
      { name: 'arg1', description: 'First test argument', required: true },
      { name: 'arg2', description: 'Second test argument', required: true },
    ],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a resource in it',
    arguments: [{ name: 'resourceUri', description: 'The resource to embed', required: true }],
  },
  { name: 'test_prompt_with_image', description: 'A prompt with an image in it' },
  { name: 'test_input_required_result_prompt', description: 'A prompt that asks for its context' },
];

export function getPrompt(
  name: string,
  given: Readonly<Record<string, string>>,
  { mcpReq }: ServerContext,
): GetPromptResult | InputRequiredResult {
  switch (name) {
    case 'test_simple_prompt':
      return said('This is a simple prompt for testing.');
    case 'test_prompt_with_arguments':
      return said(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`);
    case 'test_prompt_with_embedded_resource': {
      const text = 'Embedded resource content for testing.';
      const resource = { uri: given.resourceUri ?? '', mimeType: 'text/plain', text };
      const embedded = { type: 'resource', resource } as const;
      return said(embedded, 'Please process the embedded resource above.');
    }
    case 'test_prompt_with_image':
      return said({ type: 'image', ...PNG }, 'Please analyze the image above.');
    case 'test_input_required_result_prompt': {
      const answer = acceptedContent(mcpReq.inputResponses, 'user_context', contextSchema);
      if (answer) return said(`Prompt with context: ${answer.context}`);
      const fields = { context: { type: 'string' } };
      const user_context = form('What context should the prompt use?', fields);
      return inputRequired({ inputRequests: { user_context } });
    }
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt "${name}"`);
}

function said(...blocks: (string | ContentBlock)[]): GetPromptResult {
  const messages = blocks.map((block) => ({
    role: 'user' as const,
    content: typeof block === 'string' ? { type: 'text' as const, text: block } : block,
  }));
  return { messages };
}
