// The tools of an agent that other agents may call over MCP and A2A: those that `expose_tools` names, less those
// that `private_tools` names in any spelling. No other tool is listed, found or mentioned.

import {
  findNamed,
  type Hop,
  type Log,
  MAX_TOOL_NAME,
  normalName,
  withNameHash,
} from '@starloom/core';
import type { ITool } from '@starloom/sdk';
import type { Exposure } from './exposure.ts';
import type { AgentFace } from './seams.ts';

export interface ExposedTool {
  /** As the agent calls it. */
  readonly name: string;
  /** As clients see it. */
  readonly listedName: string;
  readonly description: string;
  readonly parameters: ITool['parameters'];
}

/** The agent itself as one tool; exposed like any other, by its name. */
export const ASK: ExposedTool = {
  name: 'ask',
  listedName: 'ask',
  description: 'Asks the agent itself: it thinks, uses its tools, and answers.',
  parameters: {
    type: 'object',
    properties: {
      prompt: { type: 'string', minLength: 1, description: 'What it shall do or answer' },
      session_id: { type: 'string', description: 'Of an earlier answer, to go on from there' },
    },
    required: ['prompt'],
    additionalProperties: false,
  },
};

export class ExposedTools {
  readonly #agent: AgentFace;
  readonly #names: readonly string[];

  constructor(agent: AgentFace, { expose_tools, private_tools }: Exposure, log: Log) {
    this.#agent = agent;
    const hidden = new Set(private_tools.map(toListedName));
    const names = [...new Set(expose_tools)].filter((name) => !hidden.has(toListedName(name)));
    const listed = new Set<string>();
    this.#names = names.filter((name) => {
      const isNew = !listed.has(toListedName(name));
      if (!isNew) log.warn({ tool: name }, 'another exposed tool is listed under the same name');
      listed.add(toListedName(name));
      return isNew;
    });
  }

  /** In the order of `expose_tools`; those the agent does not have now are left out. */
  list(): ExposedTool[] {
    return this.#names.flatMap((name) => {
      const tool = this.#tool(name);
      if (tool) return [toExposed(tool)];
      return name === ASK.name ? [ASK] : [];
    });
  }

  /** The exposed tool that a caller means, by either spelling. The agent may not have it yet. */
  find(spelling: string): ExposedTool | undefined {
    const name = this.#names.find(
      (known) => known === spelling || toListedName(known) === normalName(spelling),
    );
    if (name === undefined) return undefined;
    const tool = this.#tool(name);
    if (tool) return toExposed(tool);
    return name === ASK.name ? ASK : toExposed({ name, description: '', parameters: {} });
  }

  #tool(name: string): ITool | undefined {
    return findNamed([...this.#agent.tools().values()], name);
  }
}

function toExposed({
  name,
  description,
  parameters,
}: Omit<ExposedTool, 'listedName'>): ExposedTool {
  return { name, listedName: toListedName(name), description, parameters };
}

/** The name of a tool as every client accepts it: `fs:read_file` is listed as `fs.read_file`. */
function toListedName(name: string): string {
  const listed = normalName(name).replace(/[^A-Za-z0-9_.-]/g, '_');
  return listed.length <= MAX_TOOL_NAME ? listed : withNameHash(listed, name);
}

/** The author of a message of another agent: the link before our own, where the caller gave one. */
export function callerOf({ chain }: Hop, otherwise: string): string {
  const [caller] = chain.at(-2)?.split('/') ?? [];
  return caller ? `agent:${caller}` : otherwise;
}
