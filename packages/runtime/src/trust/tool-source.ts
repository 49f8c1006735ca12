import type { ITool } from '@starloom/sdk';

const FOREIGN = /^(?:mcp|agent):/;

/** `mcp:<server>` or `agent:<id>` of what comes from outside, else `tool:<name>`. */
export function sourceOf(tool: ITool): string {
  return tool.source ?? `tool:${tool.name}`;
}

/** Somebody else runs it: its description and its results are theirs, and a call tells them something. */
export function isForeign(tool: ITool): boolean {
  return isForeignSource(sourceOf(tool));
}

export function isForeignSource(source: string): boolean {
  return FOREIGN.test(source);
}
