import { FabricError } from '@starloom/core';
import { TOOLSETS, type Toolset } from '../tools/catalog.ts';

const HEADER = 'x-mcp-toolsets';

/** The toolsets a request asks for by header or query, else those of the configuration. */
export function askedToolsets(
  headers: Readonly<Record<string, unknown>>,
  { search, searchParams }: URL,
  configured: readonly Toolset[],
): readonly Toolset[] {
  const header = headers[HEADER];
  const asked =
    typeof header === 'string' ? header : search === '' ? null : searchParams.get('toolsets');
  if (asked === null) return configured;
  const names = asked
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names.map((name) => {
    const toolset = TOOLSETS.find((known) => known === name);
    if (toolset) return toolset;
    throw new FabricError('BAD_INPUT', `There is no toolset "${name.slice(0, 64)}"`, {
      details: { reason: 'unknown_toolset', known: TOOLSETS, fix: `use ${TOOLSETS.join(', ')}` },
    });
  });
}
