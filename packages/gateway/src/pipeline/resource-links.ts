// Links to resources in what an MCP agent answers, rewritten so that the caller can read them here.

import { type Fields, isObject } from '@starloom/core';
import { toResourceUri } from '../mcp/names.ts';

/** The answer with its links; the same object when there are none. */
export function withReadableLinks<Answer extends Readonly<Fields>>(
  answer: Answer,
  agentId: string,
): Answer {
  const { content } = answer;
  if (!Array.isArray(content) || !content.some(hasLink)) return answer;
  return { ...answer, content: content.map((block) => toReadable(block, agentId)) };
}

function hasLink(block: unknown): boolean {
  return isObject(block) && (block.type === 'resource_link' || block.type === 'resource');
}

/** One block of content. */
export function toReadable(block: unknown, agentId: string): unknown {
  if (!isObject(block)) return block;
  if (block.type === 'resource_link' && typeof block.uri === 'string') {
    return { ...block, uri: toResourceUri(agentId, block.uri) };
  }
  const { resource } = block;
  if (block.type === 'resource' && isObject(resource) && typeof resource.uri === 'string') {
    return { ...block, resource: { ...resource, uri: toResourceUri(agentId, resource.uri) } };
  }
  return block;
}
