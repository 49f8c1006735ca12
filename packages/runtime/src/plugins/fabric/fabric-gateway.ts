// A gateway as an agent sees it: an MCP server over HTTP with two tools. Calls carry the trace on, one
// hop deeper; failures keep the code the gateway gave them.

import { FabricError, silentLog } from '@starloom/core';
import type { ContentSegment, ToolContext, ToolOutput } from '@starloom/sdk';
import { ServerToolSource } from '../../mcp/client/server-tool-source.ts';
import { isObject, type JsonObject } from '../../mcp/json.ts';

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
    const { url, key } = options;
    this.#source = new ServerToolSource(
      {
        name: SERVER,
        url: `${url.replace(/\/+$/, '')}/mcp?tool_names=dots`,
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
        allowed_tools: ['fabric.agent.list', 'fabric.call'],
      },
      { folder: '.', client: CLIENT, log: silentLog },
    );
  }

  /** A call may fall back to other agents, each within its own time. */
  get longestCallMs(): number {
    return DEADLINE_FACTOR * this.#options.timeoutMs + GRACE_MS;
  }

  agents(filter: JsonObject, context: ToolContext): Promise<ToolOutput> {
    return this.#source.call('fabric.agent.list', filter, context);
  }

  async call(call: JsonObject, context: ToolContext): Promise<ToolOutput> {
    const args = { ...call, timeout_ms: this.#options.timeoutMs, stream: true };
    return toAnswer(await this.#source.call('fabric.call', args, context));
  }

  close(): Promise<void> {
    return this.#source.close();
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
