// Which tools the model is offered. With few, all of them. With many, those that fit what the user wants, those
// it has looked for, and those the session has used; what is added comes last, so that a service which keeps
// the beginning of a request can go on keeping it.

import { type Log, RecentMap } from '@starloom/core';
import { type Block, defineTool, type ITool } from '@starloom/sdk';
import type { AgentFile } from '../config/agent-file.ts';
import { ToolIndex } from './tool-index.ts';

type ToolSearchConfig = AgentFile['tool_search'];
type Tools = ReadonlyMap<string, ITool>;

export const FIND = 'tools:find';
const MAX_SESSIONS = 256;

export class OfferedTools {
  readonly #config: ToolSearchConfig;
  readonly #log: Log;
  readonly #missed = new Set<string>();
  /** Of the tools as they are now. */
  #index: { readonly tools: Tools; readonly index: ToolIndex } | undefined;
  /** By session: the names of the tools that were chosen, in that order. */
  readonly #chosen = new RecentMap<Set<string>>(MAX_SESSIONS);
  readonly #find: ITool;

  constructor(config: ToolSearchConfig, log: Log) {
    this.#config = config;
    this.#log = log;
    this.#find = defineTool<{ query: string }>({
      name: FIND,
      description:
        'Finds more tools: not all that you have are listed. Say in a few words what you want to do. Those that fit are offered to you from the next step on.',
      parameters: {
        type: 'object',
        properties: { query: { type: 'string', minLength: 1, description: 'What to do' } },
        required: ['query'],
        additionalProperties: false,
      },
      effect: 'read',
      untrusted: false,
      execute: ({ query }, { sessionId }) => this.#search(query, sessionId),
    });
  }

  /** The tool that finds others, where there are too many to offer. */
  readonly derive = (tools: Tools): readonly ITool[] =>
    tools.size > this.#config.above ? [this.#find] : [];

  /** For the next step of a turn. */
  offer(sessionId: string, request: Block, blocks: readonly Block[], tools: Tools): Tools {
    if (!tools.has(FIND)) return tools;
    const chosen = this.#chosenOf(sessionId);
    const index = this.#indexOf(tools);
    const wanted = request.segments.map(({ text = '' }) => text).join('\n');
    for (const name of usedIn(blocks)) chosen.add(name);
    for (const name of index.search(wanted, this.#config.top)) chosen.add(name);
    this.#shorten(chosen);
    this.#warn(tools);
    const names = [FIND, ...this.#config.always, ...chosen];
    return new Map(
      names.flatMap((name) => {
        const tool = tools.get(name);
        return tool ? [[name, tool]] : [];
      }),
    );
  }

  /** Once for each name: a server may be away for a while. */
  #warn(tools: Tools): void {
    for (const tool of this.#config.always) {
      if (tools.has(tool) || this.#missed.has(tool)) continue;
      this.#missed.add(tool);
      this.#log.warn({ tool }, 'tool_search.always of agent.json names a tool that is not there');
    }
  }

  #search(query: string, sessionId: string): string {
    const found = this.#index?.index.search(query, this.#config.top) ?? [];
    if (found.length === 0) return 'No tool fits. Say it in other words.';
    const chosen = this.#chosenOf(sessionId);
    for (const name of found) chosen.add(name);
    return `Offered from the next step on: ${found.join(', ')}`;
  }

  #indexOf(tools: Tools): ToolIndex {
    if (this.#index?.tools !== tools) {
      const others = [...tools.values()].filter(({ name }) => name !== FIND);
      this.#index = { tools, index: new ToolIndex(others) };
    }
    return this.#index.index;
  }

  #chosenOf(sessionId: string): Set<string> {
    const chosen = this.#chosen.get(sessionId) ?? new Set();
    this.#chosen.set(sessionId, chosen);
    return chosen;
  }

  /** Never more than would be offered without a choice: those that were chosen first make room. */
  #shorten(chosen: Set<string>): void {
    for (const name of chosen) {
      if (chosen.size <= this.#config.above) return;
      chosen.delete(name);
    }
  }
}

function usedIn(blocks: readonly Block[]): string[] {
  return blocks.flatMap(({ segments }) => segments.flatMap(({ toolCall }) => toolCall?.name ?? []));
}
