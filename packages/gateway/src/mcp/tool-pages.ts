// `tools/list` in pages, for fleets whose tools do not fit into one answer. The first page begins with
// our own tools, by which the others can be found and called; agents' tools follow by name. A cursor
// holds the last name that was listed: it stays good while agents come and go, and on other gateways.

import { FabricError } from '@starloom/core';
import type { ToolDefinition } from '../tools/tool.ts';

export interface ListedTools {
  readonly ours: readonly ToolDefinition[];
  /** By name. */
  readonly agents: readonly ToolDefinition[];
}

export interface ToolPage {
  readonly tools: readonly ToolDefinition[];
  readonly nextCursor?: string;
}

/** BAD_INPUT for a cursor that no page gave out. */
export function toolPage(
  { ours, agents }: ListedTools,
  limit = Number.POSITIVE_INFINITY,
  cursor?: string,
): ToolPage {
  if (cursor !== undefined) return pageAfter(agents, parseCursor(cursor), limit);
  if (ours.length + agents.length <= limit) return { tools: [...agents, ...ours] };
  const { tools, ...next } = pageAfter(agents, '', Math.max(limit - ours.length, 0));
  return { tools: [...ours, ...tools], ...next };
}

function pageAfter(agents: readonly ToolDefinition[], after: string, limit: number): ToolPage {
  const found = agents.findIndex(({ name }) => name > after);
  const start = found === -1 ? agents.length : found;
  const tools = agents.slice(start, start + limit);
  if (start + tools.length >= agents.length) return { tools };
  return { tools, nextCursor: toCursor(tools.at(-1)?.name ?? after) };
}

function toCursor(name: string): string {
  return `t1.${Buffer.from(name).toString('base64url')}`;
}

function parseCursor(cursor: string): string {
  const [, encoded] = /^t1\.([\w-]{0,1000})$/.exec(cursor) ?? [];
  if (encoded !== undefined) return Buffer.from(encoded, 'base64url').toString('utf8');
  throw new FabricError('BAD_INPUT', 'This cursor was given out by no page of tools/list', {
    details: { reason: 'bad_cursor', fix: 'begin again without a cursor' },
  });
}
