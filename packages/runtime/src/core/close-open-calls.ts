import type { Block } from '@starloom/sdk';
import type { Labeller } from './seams.ts';

/**
 * The blocks as every model accepts them: each call has its result. One that is missing, because the
 * process died first, is made.
 */
export function closeOpenCalls(blocks: readonly Block[], labeller: Labeller): Block[] {
  const closed: Block[] = [];
  const open = new Map<string, string>();
  const answerOpen = () => {
    for (const [id, name] of open) closed.push(unanswered(id, name, labeller));
    open.clear();
  };
  for (const block of blocks) {
    if (block.role !== 'tool') answerOpen();
    closed.push(block);
    for (const { toolCall, toolResult } of block.segments) {
      if (toolResult) open.delete(toolResult.id);
      if (toolCall?.id !== undefined) open.set(toolCall.id, toolCall.name);
    }
  }
  answerOpen();
  return closed;
}

/** A result in the core's own words, as the answer to a call. */
function unanswered(id: string, name: string, labeller: Labeller): Block {
  const text = `There is no result of ${name}: the agent was stopped before it came. It may have run.`;
  const toolResult = { id, name, output: [{ type: 'text' as const, text }], isError: true };
  return {
    ...labeller.ofObservation(text),
    role: 'tool',
    segments: [{ type: 'tool_result', toolResult }],
  };
}
