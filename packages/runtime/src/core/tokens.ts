import type { Block, ContentSegment } from '@starloom/sdk';

const CHARACTERS_PER_TOKEN = 4;
const TOKENS_PER_MEDIUM = 1_000;
const TOKENS_PER_BLOCK = 4;

/** About what a model counts; good enough to decide, not to bill. */
export function estimateTokens(segments: readonly ContentSegment[]): number {
  return segments.reduce((sum, segment) => sum + estimateSegment(segment), 0);
}

export function estimateBlocks(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => sum + estimateBlock(block), 0);
}

const estimates = new WeakMap<Block, number>();

function estimateBlock(block: Block): number {
  let estimate = estimates.get(block);
  if (estimate === undefined) {
    estimate = TOKENS_PER_BLOCK + estimateTokens(block.segments);
    estimates.set(block, estimate);
  }
  return estimate;
}

function estimateSegment({ text, data, toolCall, toolResult, ui }: ContentSegment): number {
  const words = (text?.length ?? 0) + lengthOf(toolCall) + lengthOf(ui);
  const medium = data === undefined ? 0 : TOKENS_PER_MEDIUM;
  const result = toolResult ? estimateTokens(toolResult.output) : 0;
  return Math.ceil(words / CHARACTERS_PER_TOKEN) + medium + result;
}

function lengthOf(value: unknown): number {
  return value === undefined ? 0 : JSON.stringify(value).length;
}
