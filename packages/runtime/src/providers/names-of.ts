import type { IAgentContext } from '@starloom/sdk';
import { createToolNames, type ToolNames } from './tool-names.ts';

/** The names of one request: of the tools that are there, and of those the conversation mentions. */
export function namesOf({ tools, blocks = [] }: IAgentContext): ToolNames {
  const mentioned = blocks.flatMap(({ segments }) =>
    segments.flatMap(({ toolCall, toolResult }) => toolCall?.name ?? toolResult?.name ?? []),
  );
  return createToolNames([...tools.keys(), ...mentioned]);
}
