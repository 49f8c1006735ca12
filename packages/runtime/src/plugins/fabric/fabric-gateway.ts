// A gateway as an agent sees it: an MCP server over HTTP with two tools. Calls carry the trace on, one
// hop deeper; failures keep the code the gateway gave them.

import { FabricError, type Fields, isObject, silentLog, toMandateHeaders } from '@starloom/core';
import type { ContentSegment, ToolContext, ToolOutput } from '@starloom/sdk';
import { ServerToolSource } from '../../mcp/client/server-tool-source.ts';

export interface FabricGatewayOptions {
  readonly url: string;
  readonly key: string | undefined;
  readonly timeoutMs: number;
}

const SERVER = 'gateway';
const CLIENT = { name: 'starloom-agent', version: '0.1.0' };
const DEADLINE_FACTOR = 3;
const GRACE_MS = 5_000;

export class FabricGateway {
  readonly #options: FabricGatewayOptions;
  readonly #source: ServerToolSource;

  constructor(options: FabricGatewayOptions) {
    this.#options = options;
    const { key } = options;
    this.#source = this.#open(key === undefined ? {} : { authorization: `Bearer ${key}` });
  }

  /** A call may fall back to other agents, each within its own time. */
  get longestCallMs(): number {
    return DEADLINE_FACTOR * this.#options.timeoutMs + GRACE_MS;
  }

  agents(filter: Fields, context: ToolContext): Promise<ToolOutput> {
    return this.#call('fabric.agent.list', filter, context);
  }

  async call(call: Fields, context: ToolContext): Promise<ToolOutput> {
    const args = { ...call, timeout_ms: this.#options.timeoutMs, stream: true };
    return toAnswer(await this.#call('fabric.call', args, context));
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  /** Under a mandate the agent acts for its caller, with no more rights than that; else for itself. */
  async #call(tool: string, args: Fields, context: ToolContext): Promise<ContentSegment[]> {
    if (context.mandate === undefined) return await this.#source.call(tool, args, context);
    const source = this.#open(toMandateHeaders(context));
    try {
      return await source.call(tool, args, context);
    } finally {
      await source.close();
    }
  }

  #open(headers: Record<string, string>): ServerToolSource {
    return new ServerToolSource(
      {
        name: SERVER,
        url: `${this.#options.url.replace(/\/+$/, '')}/mcp?tool_names=dots`,
        headers,
        allowed_tools: ['fabric.agent.list', 'fabric.call'],
      },
      { folder: '.', client: CLIENT, log: silentLog },
    );
  }
}

/** The answer alone: who gave it and by which way is in the log of the gateway. */
function toAnswer(segments: ContentSegment[]): ToolOutput {
  const payload = parse(segments[0]?.text ?? '');
  const result = isObject(payload) && isObject(payload.result) ? payload.result : undefined;
  if (typeof result?.answer !== 'string') {
    throw new FabricError('UPSTREAM_ERROR', 'The gateway answered with something else', {
      details: { reason: 'bad_answer', fix: 'set "url" of the fabric plugin to a gateway' },
    });
  }
  const { answer, data } = result;
  const more = data === undefined ? [] : [JSON.stringify(data, null, 2)];
  return [answer, ...more].filter((text) => text !== '').join('\n\n');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
