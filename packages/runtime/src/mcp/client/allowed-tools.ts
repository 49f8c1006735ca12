import type { Tool } from '@modelcontextprotocol/client';

/** What a server's tools come to: not set is all of them, an empty list none, a list those. */
export function allowedTools(tools: readonly Tool[], allowed: readonly string[] | undefined) {
  if (allowed === undefined) return { tools: [...tools], missing: [] };
  const names = new Set(tools.map(({ name }) => name));
  return {
    tools: tools.filter(({ name }) => allowed.includes(name)),
    /** Listed, and not there. */
    missing: allowed.filter((name) => !names.has(name)),
  };
}
