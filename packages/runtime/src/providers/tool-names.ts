// Vendors take tool names of letters, digits, `_` and `-` only, at most 64, some only with a letter
// or `_` in front; ours are like `fs:read_file`. The map is made for one request, is injective, and
// does not depend on the order of the names, so that a prompt cache survives a new tool.

import { MAX_TOOL_NAME, withNameHash } from '@starloom/core';
import type { IAgentContext } from '@starloom/sdk';

export interface ToolNames {
  toWire(name: string): string;
  /** The registered name; a name that was never given out stays as it is. */
  fromWire(name: string): string;
}

const ACCEPTED = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** `names`: every name that the request will hold, offered or only mentioned. */
export function createToolNames(names: Iterable<string>): ToolNames {
  const toWire = assign(new Set(names));
  const fromWire = new Map(Array.from(toWire, ([name, wire]) => [wire, name]));
  return {
    toWire: (name) => toWire.get(name) ?? plain(name),
    fromWire: (name) => fromWire.get(name) ?? name,
  };
}

/** Names that are fine stay. Others become plain, or plain with a hash where that is taken. */
function assign(names: ReadonlySet<string>): Map<string, string> {
  const assigned = new Map<string, string>();
  const rest = Array.from(names).filter((name) => !ACCEPTED.test(name));
  const wanted = Map.groupBy(rest, plain);
  for (const name of names) {
    if (ACCEPTED.test(name)) assigned.set(name, name);
    else if (wanted.get(plain(name))?.length === 1 && !names.has(plain(name))) {
      assigned.set(name, plain(name));
    }
  }
  const taken = new Set(assigned.values());
  for (const name of rest.filter((other) => !assigned.has(other)).toSorted()) {
    const wire = toFreeName(name, taken);
    taken.add(wire);
    assigned.set(name, wire);
  }
  return assigned;
}

function plain(name: string): string {
  const spelled = name.replace(/[^A-Za-z0-9_-]/g, '_');
  const started = /^[A-Za-z_]/.test(spelled) ? spelled : `_${spelled}`;
  return started.length > MAX_TOOL_NAME ? withNameHash(started, name) : started;
}

function toFreeName(name: string, taken: ReadonlySet<string>): string {
  let wire = withNameHash(plain(name), name);
  for (let round = 1; taken.has(wire); round += 1)
    wire = withNameHash(plain(name), `${name}#${round}`);
  return wire;
}

/** The names of one request: of the tools that are there, and of those the conversation mentions. */
export function namesOf({ tools, blocks = [] }: IAgentContext): ToolNames {
  const mentioned = blocks.flatMap(({ segments }) =>
    segments.flatMap(({ toolCall, toolResult }) => toolCall?.name ?? toolResult?.name ?? []),
  );
  return createToolNames([...tools.keys(), ...mentioned]);
}
