// Links to resources in what an MCP agent answers, rewritten so that the caller can read them here.

import { toResourceUri } from '../mcp/names.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The answer with its links; the same object when there are none. */
export function withReadableLinks<Answer extends Fields>(answer: Answer, agentId: string): Answer {
  const { content } = answer;
  if (!Array.isArray(content) || !content.some(hasLink)) return answer;
  return { ...answer, content: content.map((block) => toReadable(block, agentId)) };
}

function hasLink(block: unknown): boolean {
  return isFields(block) && (block.type === 'resource_link' || block.type === 'resource');
}

function toReadable(block: unknown, agentId: string): unknown {
  if (!isFields(block)) return block;
  if (block.type === 'resource_link' && typeof block.uri === 'string') {
    return { ...block, uri: toResourceUri(agentId, block.uri) };
  }
  const { resource } = block;
  if (block.type === 'resource' && isFields(resource) && typeof resource.uri === 'string') {
    return { ...block, resource: { ...resource, uri: toResourceUri(agentId, resource.uri) } };
  }
  return block;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
