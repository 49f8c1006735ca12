// The agent's own list of tools, read when it is needed and kept until the agent says that it
// changed; where the agent cannot say so, for a minute. All pages, but not without end.

import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/client';
import {
  bounded,
  type Fields,
  findNamed,
  isObject,
  type Log,
  orAborted,
  toCapabilityName,
} from '@starloom/core';
import { cleanText, streamTurns } from '@starloom/wire';
import { freshTools } from './call.ts';
import type { McpConnection } from './connection.ts';
import { findParamHeaders, type ParamHeader } from './param-headers.ts';
import { failure } from './reasons.ts';

const MAX_PAGES = 64;
const MAX_TOOLS = 2_048;
const MAX_NAME = 256;
const MAX_TITLE = 256;
const MAX_DESCRIPTION = 8_192;
/** Of one schema, as JSON; a tool with a larger one is left out. */
const MAX_SCHEMA_LENGTH = 262_144;
/** Of all else that is said of one tool, icons with their data among it. */
const MAX_REST_LENGTH = 262_144;
const LOAD_TIMEOUT_MS = 30_000;
const UNWATCHED_TTL_MS = 60_000;
/** A list younger than this is believed when it lacks a tool. */
const YOUNG_MS = 250;
/** The list of an agent that says all the time that it changed is asked for twice in this time. */
const TWO_LOADS_MS = 500;

export interface Tool {
  readonly name: string;
  /** Its name as a capability, which has fewer characters to choose from. */
  readonly capability: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly inputSchema: Fields | undefined;
  readonly outputSchema: Fields | undefined;
  readonly annotations: Fields;
  /** What else the agent says of it, as it says it: `icons`, `execution`, `_meta`. */
  readonly rest: Fields;
  /** Arguments the agent wants to see in headers, too. */
  readonly paramHeaders: readonly ParamHeader[];
}

export type Tools = ReadonlyMap<string, Tool>;

export interface ToolSnapshot {
  readonly connection: McpConnection;
  readonly tools: Tools;
  readonly loadedAt: number;
  readonly expiresAt: number;
}

interface Loading {
  readonly connection: McpConnection;
  readonly tools: Promise<Tools>;
  /** Before that it waits for its turn, and the list will have all changes until then. */
  isAsked: boolean;
}

export class ToolCatalog {
  readonly #log: Log;
  /** The list that was read last, if it may still be valid: read on every call. */
  latest: ToolSnapshot | undefined;
  #loading: Loading | undefined;
  /** When a list was asked for, the last and the time before. */
  #asked: readonly [number, number] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  /** Grows with every announced change: a list that was requested before one is not kept. */
  #changes = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  invalidate(): void {
    this.#changes += 1;
    this.latest = undefined;
    if (this.#loading?.isAsked) this.#loading = undefined;
  }

  async all(connection: McpConnection, signal: AbortSignal): Promise<Tools> {
    const known = freshTools(this.latest, connection);
    if (known) return known;
    if (this.#loading?.connection !== connection) {
      const turn = this.#turn();
      const tools = turn ? turn.then(() => this.#load(connection)) : this.#load(connection);
      const loading = { connection, tools, isAsked: turn === undefined };
      this.#loading = loading;
      void turn?.then(() => {
        loading.isAsked = true;
      });
      const onEnd = () => {
        if (this.#loading === loading) this.#loading = undefined;
      };
      loading.tools.then(onEnd, onEnd);
    }
    return await orAborted(this.#loading.tools, signal);
  }

  /** Asks again before it says that there is no such tool. */
  async find(
    name: string,
    connection: McpConnection,
    signal: AbortSignal,
  ): Promise<Tool | undefined> {
    const tool = pick(await this.all(connection, signal), name);
    if (tool || performance.now() - (this.latest?.loadedAt ?? 0) < YOUNG_MS) return tool;
    this.invalidate();
    return pick(await this.all(connection, signal), name);
  }

  /** `undefined` when it is now. */
  #turn(): Promise<void> | undefined {
    const restMs = this.#asked[1] + TWO_LOADS_MS - performance.now();
    return restMs > 0 ? new Promise((resolve) => setTimeout(resolve, restMs)) : undefined;
  }

  async #load(connection: McpConnection): Promise<Tools> {
    this.#asked = [performance.now(), this.#asked[0]];
    const changes = this.#changes;
    const isWatched = connection.watches('tools');
    const tools = await this.#fetch(connection);
    const now = performance.now();
    if (changes === this.#changes) {
      const expiresAt = isWatched ? Number.POSITIVE_INFINITY : now + UNWATCHED_TTL_MS;
      this.latest = { connection, tools, loadedAt: now, expiresAt };
    }
    return tools;
  }

  async #fetch(connection: McpConnection): Promise<Tools> {
    const tools = new Map<string, Tool>();
    if (!connection.capabilities.tools) return tools;
    const deadline = performance.now() + LOAD_TIMEOUT_MS;
    let cursor: unknown;
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const _meta = { [CLIENT_CAPABILITIES_META_KEY]: { extensions: connection.extensions } };
      const params = { ...(cursor !== undefined && { cursor }), _meta };
      const result = await ask(connection, 'tools/list', params, deadline - performance.now());
      for (const entry of Array.isArray(result.tools) ? result.tools : []) {
        const tool = this.#parse(entry, connection);
        if (tool) tools.set(tool.name, tool);
        // An agent may list thousands, again and again.
        await streamTurns.enter();
      }
      const next = result.nextCursor;
      if (typeof next !== 'string' || next === '' || next === cursor) return tools;
      if (tools.size > MAX_TOOLS) break;
      cursor = next;
    }
    throw failure('endless_list', { pages: MAX_PAGES, tools: tools.size });
  }

  /** Strict enough to be usable: whatever else the agent says of a tool is passed on. */
  #parse(entry: unknown, connection: McpConnection): Tool | undefined {
    if (!isObject(entry) || typeof entry.name !== 'string') return undefined;
    if (entry.name === '' || entry.name.length > MAX_NAME) return undefined;
    const { name, title, description, inputSchema, outputSchema, annotations, ...rest } = entry;
    const mirrors = connection.isHttp && connection.era === 'modern';
    const paramHeaders = mirrors ? findParamHeaders(inputSchema) : [];
    if (!paramHeaders) {
      this.#log.warn({ tool: name }, 'tool left out: its x-mcp-header declarations are invalid');
      return undefined;
    }
    if (lengthOf(inputSchema) + lengthOf(outputSchema) > MAX_SCHEMA_LENGTH) {
      this.#log.warn({ tool: bounded(name) }, 'tool left out: its schemas are too large');
      return undefined;
    }
    if (typeof description === 'string' && description.length > MAX_DESCRIPTION) {
      const kept = MAX_DESCRIPTION;
      this.#log.warn({ tool: bounded(name), kept }, 'the description of a tool is cut: too long');
    }
    return {
      name,
      capability: toCapabilityName(name),
      title: cleanText(title, MAX_TITLE),
      description: cleanText(description, MAX_DESCRIPTION),
      inputSchema: isObject(inputSchema) ? inputSchema : undefined,
      outputSchema: isObject(outputSchema) ? outputSchema : undefined,
      annotations: toAnnotations(annotations),
      rest: this.#checkedRest(name, rest),
      paramHeaders,
    };
  }

  #checkedRest(tool: string, rest: Fields): Fields {
    if (lengthOf(rest) <= MAX_REST_LENGTH) return rest;
    this.#log.warn(
      { tool: bounded(tool) },
      'a tool is listed without its icons and _meta: too long',
    );
    return {};
  }
}

function pick(tools: Tools, name: string): Tool | undefined {
  const tool = tools.get(name) ?? tools.values().find(({ capability }) => capability === name);
  return tool ?? findNamed([...tools.values()], name);
}

function lengthOf(schema: unknown): number {
  return schema === undefined ? 0 : JSON.stringify(schema).length;
}

/** Hints are booleans and a title; anything else would only be carried around. */
function toAnnotations(annotations: unknown): Fields {
  if (!isObject(annotations)) return {};
  const hints = Object.entries(annotations).filter(([, value]) => typeof value === 'boolean');
  const title = cleanText(annotations.title, MAX_TITLE);
  return { ...Object.fromEntries(hints), ...(title === undefined ? {} : { title }) };
}

/** One small request within a time of its own; what the agent says meanwhile does not matter. */
async function ask(
  connection: McpConnection,
  method: string,
  params: Fields,
  timeoutMs: number,
): Promise<Fields> {
  const exchange = connection.send(method, params);
  const onTimeout = () => exchange.cancel(failure('list_timeout', { timeout_ms: LOAD_TIMEOUT_MS }));
  const timer = setTimeout(onTimeout, timeoutMs);
  try {
    while (await exchange.next()) {}
    return exchange.result();
  } finally {
    clearTimeout(timer);
  }
}
