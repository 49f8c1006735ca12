// Agents that speak MCP, of either era, over HTTP or as child processes.

import type { ClientCapabilities, ServerCapabilities } from '@modelcontextprotocol/client';
import {
  type Adapter,
  type AdapterFactory,
  type AgentDescription,
  type CallContext,
  type Envelope,
  type EventBody,
  FabricError,
  type Fields,
  type FinalData,
  findCapability,
  type Health,
  isObject,
  type Log,
  type Manifest,
  toMeta,
} from '@starloom/core';
import {
  type Answer,
  type ListKind,
  type McpCall,
  McpClient,
  openCall,
  type RequestOptions,
  type ServerFacts,
} from '@starloom/mcp-client';
import { streamTurns } from '@starloom/wire';
import { parseOptions } from '../upstream/endpoint.ts';
import { describeAgent, healthOf } from './agent-facts.ts';
import { take } from './notifications.ts';
import { mcpOptionsSchema } from './options.ts';
import { nextRound, type Round, toInputResponses } from './questions.ts';
import type { McpRelay } from './relay.ts';
import {
  needsTask,
  toCapability,
  toFinal,
  toToolArguments,
  toToolCall,
  wantsInput,
} from './translate.ts';
import { transportSource } from './transport-source.ts';

const CLIENT_INFO = { name: 'starloom', version: '0.1.0' };

/**
 * What the gateway can pass on to a caller; whether the caller can answer, and shows user interfaces, is
 * known per call. Agents of the current revision learn it with the call, older ones when they are connected.
 */
const DECLARED: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};

/** Of a process that keeps dying; requests over HTTP cost too little to be held back. */
const MAX_BACKOFF_MS = 30_000;

/** Throws BAD_INPUT for a manifest that names no MCP agent. Connects when first needed. */
export const createMcpAdapter: AdapterFactory = ({ manifest, log, stateFolder }) =>
  new McpAdapter(manifest, log.child({ agent_id: manifest.agent_id }), stateFolder);

class McpAdapter implements Adapter, McpRelay {
  readonly #manifest: Manifest;
  readonly #client: McpClient;

  constructor(manifest: Manifest, log: Log, stateFolder: string | undefined) {
    this.#manifest = manifest;
    const options = parseOptions(mcpOptionsSchema, manifest);
    this.#client = new McpClient({
      source: transportSource(manifest, { options, log, stateFolder }),
      info: CLIENT_INFO,
      capabilities: DECLARED,
      connectTimeoutMs: options.connect_timeout_ms,
      longestBackoffMs: manifest.endpoint.transport === 'stdio' ? MAX_BACKOFF_MS : undefined,
      log,
    });
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { agent_id, capability } = envelope.target;
    let call: McpCall | undefined;
    let taskId: string | undefined;
    try {
      const { signal } = context;
      const opened = openCall(this.#client.lanes, {
        signal,
        principal: envelope.auth.principal_id,
      });
      call = opened instanceof Promise ? await opened : opened;
      for (let round = firstRound(context); ; ) {
        const answer = await this.#begin(call, envelope, context, round);
        let last: FinalData | undefined;
        while (!answer.isRead) {
          const said = await answer.next();
          if (!said) break;
          const body = await take(said, call, context);
          if (body?.type === 'final') last = body.data;
          else if (body) yield body;
          const turn = streamTurns.enter(envelope.auth.principal_id ?? undefined);
          if (turn) await turn;
        }
        const result = answer.result();
        taskId = taskId === undefined ? taskIn(result, call.server) : undefined;
        if (taskId !== undefined) {
          round = { taskId };
          continue;
        }
        if (!wantsInput(result)) return yield toFinal(result, last);
        round = await nextRound(result, context);
      }
    } catch (error) {
      const sent = taskId === undefined ? {} : { sent: true };
      throw FabricError.from(error).with({ agent_id, capability, ...sent });
    } finally {
      if (taskId !== undefined) call?.notify('tasks/cancel', { taskId });
      call?.[Symbol.dispose]();
    }
  }

  #begin(call: McpCall, envelope: Envelope, context: CallContext, round: Round): Promise<Answer> {
    const { taskId } = round;
    if (taskId !== undefined) return call.send('tasks/result', toTaskRequest(taskId, envelope));
    const { target, input } = envelope;
    const capability = findCapability(this.#manifest, target.capability);
    const schema = capability?.input_schema;
    return call.callTool(capability?.tool ?? target.capability, {
      needsTool: schema === undefined || context.confirm !== undefined,
      toParams: (tool, server) => {
        const confirmed = tool && context.confirm?.(toCapability(tool));
        const task = tool && needsTask(tool) && takesTasks(server) ? { task: {} } : undefined;
        const given = toToolArguments(input, schema ?? tool?.inputSchema);
        const params = Object.assign(toToolCall(given, envelope, context), round, task);
        return confirmed ? confirmed.then(() => params) : params;
      },
    });
  }

  request(method: string, params: Fields | undefined, options: RequestOptions): Promise<Fields> {
    return this.#client.request(method, params, options);
  }

  async serverCapabilities({ signal }: { signal: AbortSignal }): Promise<ServerCapabilities> {
    return (await this.#client.facts(signal)).capabilities;
  }

  onListChanged(kind: ListKind, listener: () => void): () => void {
    return this.#client.onListChanged(kind, listener);
  }

  health({ signal }: CallContext): Promise<Health> {
    return healthOf(this.#client, signal);
  }

  describe({ signal }: CallContext): Promise<AgentDescription> {
    return describeAgent(this.#client, this.#manifest, signal);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** Whether an older agent lets calls become tasks. */
function takesTasks({ era, capabilities }: ServerFacts): boolean {
  const { tasks }: Fields = { ...capabilities };
  return era === 'legacy' && isObject(tasks) && isObject(tasks.requests);
}

/** The task that an older agent made of a call. */
function taskIn({ task }: Fields, server: ServerFacts | undefined): string | undefined {
  const isTask = server && takesTasks(server) && isObject(task);
  return isTask && typeof task.taskId === 'string' ? task.taskId : undefined;
}

function toTaskRequest(taskId: string, { trace, hop }: Envelope): Fields {
  return { taskId, _meta: toMeta(trace, hop) };
}

function firstRound({ handle, responses }: CallContext): Round {
  return {
    ...(handle?.request_state !== undefined && { requestState: handle.request_state }),
    ...(responses && { inputResponses: toInputResponses(responses) }),
  };
}
