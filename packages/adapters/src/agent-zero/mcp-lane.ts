// Agent Zero as an MCP server: its tool `send_message`, called by the MCP adapter. What went wrong
// there is a result like any other, with a status inside.

import {
  type Adapter,
  type AdapterOptions,
  type CallContext,
  type Envelope,
  type EventBody,
  type FinalData,
  findCapability,
  type Manifest,
  toFields,
  tryParseJson,
} from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import type { ProfileCall } from '../http/profile.ts';
import type { Target } from '../http/target.ts';
import { mcpOptionsSchema } from '../mcp/options.ts';
import { failure } from '../reasons.ts';
import { agentExcerpt } from '../upstream/endpoint.ts';
import { toPrompt } from '../upstream/prompt-text.ts';
import { type AgentZeroLane, chatFailure, chatOf } from './lane.ts';
import type { AgentZeroOptions } from './options.ts';

const TOOL = 'send_message';

export async function openMcpLane(
  { manifest, log }: AdapterOptions,
  options: AgentZeroOptions,
  target: Target,
): Promise<AgentZeroLane> {
  const { createMcpAdapter } = await import('../mcp/adapter.ts');
  const adapter = await createMcpAdapter({ manifest: toMcp(manifest, options, target), log });
  return new McpLane(adapter, options, agentExcerpt(manifest));
}

class McpLane implements AgentZeroLane {
  readonly #adapter: Adapter;
  readonly #options: AgentZeroOptions;
  readonly #excerpt: Excerpt;

  constructor(adapter: Adapter, options: AgentZeroOptions, excerpt: Excerpt) {
    this.#adapter = adapter;
    this.#options = options;
    this.#excerpt = excerpt;
  }

  async *call({ envelope, context }: ProfileCall): AsyncIterable<EventBody> {
    const chatId = chatOf(context.handle);
    const inner = toToolCall(envelope, { chatId, keep: this.#options.keep_chats });
    const { signal, log, notify } = context;
    for await (const event of this.#adapter.call(inner, { signal, log, notify })) {
      if (event.type !== 'final') yield event;
      else yield this.#toFinal(event.data, chatId, context);
    }
  }

  async probe(context: CallContext): Promise<void> {
    const { capabilities } = await this.#adapter.describe(context);
    if (findCapability({ capabilities }, TOOL)) return;
    throw failure('unknown_tool', { tool: TOOL });
  }

  async close(): Promise<void> {
    await this.#adapter.close();
  }

  #toFinal(
    { answer, data }: FinalData,
    chatId: string | undefined,
    context: CallContext,
  ): EventBody {
    const result = resultIn(answer, data);
    const { status, response, error, chat_id } = result;
    if (status !== 'success' || typeof response !== 'string') {
      if (chatId !== undefined && /chat not found/i.test(String(error)))
        throw failure('unknown_conversation/chat');
      throw chatFailure(typeof error === 'string' ? this.#excerpt(error) : undefined);
    }
    if (this.#options.keep_chats && typeof chat_id === 'string') context.keep?.({ chat: chat_id });
    return { type: 'final', data: { answer: response } };
  }
}

/** As structured content, or as the text that older versions of its library answer with. */
function resultIn(answer: string, data: unknown): Readonly<Record<string, unknown>> {
  const { result } = toFields(data);
  return toFields(result ?? tryParseJson(answer));
}

function toToolCall(
  envelope: Envelope,
  { chatId, keep }: { readonly chatId: string | undefined; readonly keep: boolean },
): Envelope {
  const { attachments } = envelope.input;
  if (attachments.some(({ uri }) => uri === undefined))
    throw failure('attachments_unsupported/form', { takes: 'a uri' });
  const given = {
    message: toPrompt(envelope.input),
    ...(attachments.length > 0 && { attachments: attachments.map(({ uri }) => uri) }),
    ...(chatId !== undefined && { chat_id: chatId }),
    persistent_chat: keep,
  };
  return {
    ...envelope,
    target: { ...envelope.target, capability: TOOL },
    input: { task: '', arguments: given, context: {}, attachments: [] },
  };
}

/** Its MCP face takes the token in the path alone. */
function toMcp(
  manifest: Manifest,
  { project, max_result_bytes }: AgentZeroOptions,
  target: Target,
): Manifest {
  const { 'x-api-key': token = '' } = target.headers;
  const within = project === undefined ? '' : `/p-${project}`;
  const path = target.pathOf(`/mcp/t-${encodeURIComponent(token)}${within}/http/`);
  const options = mcpOptionsSchema.parse({ result_bytes: max_result_bytes });
  const { headers } = manifest.endpoint;
  return {
    ...manifest,
    capabilities: undefined,
    endpoint: { transport: 'http', uri: `${target.origin}${path}`, headers, options },
  };
}
