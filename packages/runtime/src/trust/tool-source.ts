import type { ITool } from '@starloom/sdk';

const FOREIGN = /^(?:mcp|agent):/;

/** `mcp:<server>` or `agent:<id>` of what comes from outside, else `tool:<name>`. */
export function sourceOf(tool: ITool): string {
  return tool.source ?? `tool:${tool.name}`;
}

/** An MCP server or another agent runs it: its description and its results are foreign. */
export function isForeign(tool: ITool): boolean {
  return FOREIGN.test(sourceOf(tool));
}
