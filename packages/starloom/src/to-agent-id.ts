import { agentIdSchema } from '@starloom/core';

const MAX_LENGTH = 31;

/** The nearest valid agent id; one that is none of `taken`. */
export function toAgentId(name: string, taken: ReadonlySet<string> = new Set()): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '');
  const base = plain === '' ? 'agent' : plain;
  const free = agentIdSchema.safeParse(cut(base, '')).success ? '' : '-mcp';
  for (let number = 1; ; number += 1) {
    const id = cut(base, number === 1 ? free : `-${number}`);
    if (!taken.has(id)) return id;
  }
}

function cut(base: string, end: string): string {
  return base.slice(0, MAX_LENGTH - end.length) + end;
}
