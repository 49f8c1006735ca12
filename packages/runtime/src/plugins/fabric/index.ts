import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  FabricError,
  type Fields,
  silentLog,
  toFields,
  toMandateHeaders,
  tryParseJson,
} from '@starloom/core';
import {
  type ContentSegment,
  definePlugin,
  defineTool,
  type ITool,
  type PluginHost,
  type ToolContext,
  type ToolOutput,
} from '@starloom/sdk';
import { z } from 'zod';
import { ServerToolSource } from '../../mcp/client/server-tool-source.ts';
import type { Peer } from '../../peers/peer.ts';
import { failure } from '../../reasons.ts';

const fabricConfigSchema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Of the gateway, without /mcp; the variable STARLOOM_URL by default'),
  key: z
    .string()
    .regex(/^(?:env|file):.+$/, 'expected env:NAME or file:PATH')
    .optional()
    .describe('env:NAME or file:PATH; the variable STARLOOM_KEY by default'),
  timeout_ms: z.int().positive().default(60_000).describe('Of one attempt at an agent'),
});

const USUAL_URL = 'http://127.0.0.1:7420';

/** Other agents, through a gateway. What they say is untrusted. */
export default definePlugin({
  name: 'fabric',
  config: fabricConfigSchema,
  async setup({ url, key, timeout_ms }, host: PluginHost) {
    const gateway = new FabricGateway({
      url: url ?? host.env.STARLOOM_URL ?? USUAL_URL,
      key: await readKey(key, host),
      timeoutMs: timeout_ms,
    });
    const agents = defineTool({
      name: 'fabric:agents',
      description: 'Lists other agents that can be called, with what each can do.',
      command: 'agents',
      effect: 'read',
      parameters: z.strictObject({
        capability: z.string().min(1).optional().describe('Only agents that have it'),
      }),
      execute: (args, context) => gateway.use('fabric.agent.list', args, context),
    });
    const call = callTool(gateway);
    gateways.set(call, gateway);
    return { tools: [agents, call], close: () => gateway.close() };
  },
});

const gateways = new WeakMap<ITool, FabricGateway>();

/** How to give tasks to agents of the gateway that one of these tools calls, if one does. */
export function gatewayOf(tools: readonly ITool[]): FabricGateway | undefined {
  return tools.map((tool) => gateways.get(tool)).find((gateway) => gateway !== undefined);
}

function callTool(gateway: FabricGateway): ITool {
  return {
    ...defineTool({
      name: 'fabric:call',
      description: 'Gives a task to another agent and waits for its answer.',
      command: 'call',
      effect: 'act',
      targets: ['agent_id', 'capability', 'arguments'],
      timeoutMs: gateway.longestCallMs,
      parameters: z.strictObject({
        agent_id: z.string().min(1).describe('As fabric:agents lists it'),
        capability: z.string().min(1).describe('Which of its capabilities'),
        task: z.string().min(1).optional().describe('What it shall do, in words'),
        arguments: z.record(z.string(), z.unknown()).optional().describe('Where it wants some'),
      }),
      execute: (args, context) => gateway.call(args, context),
    }),
    source: 'agent:fabric',
  };
}

const USUAL = 'env:STARLOOM_KEY';

/** What `env:NAME` or `file:PATH` stands for; without a reference there may be none. */
async function readKey(
  reference: string | undefined,
  { env, folder }: PluginHost,
): Promise<string | undefined> {
  const [, kind, name = ''] = /^(env|file):(.+)$/.exec(reference ?? USUAL) ?? [];
  const found =
    kind === 'env'
      ? env[name]
      : await readFile(resolve(folder, name), 'utf8').catch(() => undefined);
  const key = found?.trim();
  if (key || reference === undefined) return key || undefined;
  throw failure('no_key', { reference });
}

interface FabricGatewayOptions {
  readonly url: string;
  readonly key: string | undefined;
  readonly timeoutMs: number;
}

type CallOf = Omit<ToolContext, 'sessionId'>;

const SERVER = 'gateway';
const CLIENT = { name: 'starloom-agent', version: '0.1.0' };
const DEADLINE_FACTOR = 3;
const GRACE_MS = 5_000;

/**
 * A gateway as an agent sees it: an MCP server over HTTP with two tools. Calls carry the trace on, one hop
 * deeper; failures keep the code the gateway gave them.
 */
class FabricGateway {
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

  async call(call: Fields, context: ToolContext): Promise<ToolOutput> {
    const args = { ...call, timeout_ms: this.#options.timeoutMs, stream: true };
    return toAnswer(await this.use('fabric.call', args, context));
  }

  /**
   * An agent of the gateway. Where its manifest asks for a mandate, it acts for us under one that the gateway
   * narrows to `tools`, to the calls that are left and to the deadline; never with our key.
   */
  peer(name: string, tools?: readonly string[]): Peer {
    return {
      name,
      delegate: async (task, { signal, trace, hop, mandate, deadlineMs, budget, onEvent }) => {
        const progress = (message: string) => onEvent?.({ type: 'progress', data: { message } });
        const context = { signal, trace, hop, mandate, progress };
        const delegated = {
          ...(tools && { cap: [...tools] }),
          ...(budget?.steps !== undefined && { calls: budget.steps }),
          ...(deadlineMs !== undefined && { ms: Math.max(1, Math.floor(deadlineMs)) }),
        };
        try {
          const args = {
            agent_id: name,
            capability: task.skill ?? (await this.#onlyCapability(name, context)),
            task: task.text,
            timeout_ms: Math.min(this.#options.timeoutMs, deadlineMs ?? Number.POSITIVE_INFINITY),
            ...(deadlineMs !== undefined && { deadline_ms: Math.floor(deadlineMs) }),
            stream: true,
          };
          const meta = { 'io.starloom/delegate': delegated };
          const text = String(toAnswer(await this.use('fabric.call', args, context, meta)));
          return { peer: name, status: 'completed', text, artifacts: [] };
        } catch (thrown) {
          const error = FabricError.from(signal.aborted ? signal.reason : thrown);
          if (error.code !== 'INPUT_REQUIRED') return { peer: name, status: 'failed', error };
          return { peer: name, status: 'asking', question: error.message };
        }
      },
    };
  }

  /** The one that the agent has, or the one that agents of ours have for tasks. */
  async #onlyCapability(to: string, context: CallOf): Promise<string> {
    const [segment] = await this.use('fabric.agent.describe', { agent_id: to }, context);
    const { agent } = toFields(tryParseJson(segment?.text ?? ''));
    const { capabilities } = toFields(agent);
    if (!Array.isArray(capabilities)) throw failure('bad_answer');
    const names = capabilities.map((one) => String(toFields(one).name));
    const [only, ...others] = names;
    if (names.includes('ask')) return 'ask';
    if (only !== undefined && others.length === 0) return only;
    throw failure('no_capability', { to, capabilities: names.join(', ') });
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  /** Calls a tool of the gateway: under a mandate for our caller, with no more rights than that, else for us. */
  async use(
    tool: string,
    args: Fields,
    context: CallOf,
    meta: Fields = {},
  ): Promise<ContentSegment[]> {
    if (context.mandate === undefined) return await this.#source.call(tool, args, context, meta);
    const source = this.#open(toMandateHeaders(context));
    try {
      return await source.call(tool, args, context, meta);
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
        allowed_tools: ['fabric.agent.list', 'fabric.agent.describe', 'fabric.call'],
      },
      { folder: '.', client: CLIENT, log: silentLog },
    );
  }
}

/** The answer alone; the log of the gateway says which agent gave it. */
function toAnswer(segments: ContentSegment[]): ToolOutput {
  const payload = tryParseJson(segments[0]?.text ?? '');
  const { answer, data } = toFields(toFields(payload).result);
  if (typeof answer !== 'string') throw failure('bad_answer');
  const more = data === undefined ? [] : [JSON.stringify(data, null, 2)];
  return [answer, ...more].filter((text) => text !== '').join('\n\n');
}
