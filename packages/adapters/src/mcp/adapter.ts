// Agents that speak MCP, of either era, over HTTP or as child processes.

import { setTimeout as delay } from 'node:timers/promises';
import type {
  ClientCapabilities,
  JSONRPCNotification,
  JSONRPCRequest,
  ServerCapabilities,
} from '@modelcontextprotocol/client';
import {
  type Adapter,
  type AdapterFactory,
  type AgentDescription,
  bounded,
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
  toHealthReason,
  toMeta,
} from '@starloom/core';
import {
  type Answer,
  type ConnectionAttempt,
  isQuestion,
  type ListKind,
  type McpCall,
  McpClient,
  openCall,
  type RequestOptions,
  type RpcAnswer,
  rpcErrorOf,
  type Said,
  type ServerFacts,
} from '@starloom/mcp-client';
import { cleanText, deadlineSignal, streamTurns } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { mcpOptionsSchema } from './options.ts';
import type { McpRelay } from './relay.ts';
import {
  needsTask,
  questionsIn,
  toCapability,
  toEventBody,
  toFinal,
  toInputResponses,
  toQuestion,
  toRpcAnswer,
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

const MAX_VERSION = 128;
const MAX_DESCRIPTION = 8_192;
const MAX_INSTRUCTIONS = 65_536;

const HEALTH_TIMEOUT_MS = 10_000;
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

  async health({ signal: parent }: CallContext): Promise<Health> {
    using deadline = deadlineSignal({ ms: HEALTH_TIMEOUT_MS, parent });
    const { signal } = deadline;
    const started = performance.now();
    try {
      await this.#client.ping(signal);
    } catch (error) {
      if (!rpcErrorOf(error)) {
        return failedHealth(FabricError.from(error), this.#client.attempt);
      }
    }
    const latency_ms = performance.now() - started;
    return { status: 'online', checked_at: new Date().toISOString(), latency_ms };
  }

  async describe({ signal }: CallContext): Promise<AgentDescription> {
    try {
      const { server, instructions } = await this.#client.facts(signal);
      const tools = await this.#client.listTools(signal);
      const said = {
        version: cleanText(server?.version, MAX_VERSION),
        description: cleanText(server?.description, MAX_DESCRIPTION),
        instructions: cleanText(instructions, MAX_INSTRUCTIONS),
      };
      const capabilities = [...tools.values()].map(toCapability);
      const given = Object.entries(said).filter(([, text]) => text);
      return { ...Object.fromEntries(given), capabilities };
    } catch (error) {
      throw FabricError.from(error).with({ agent_id: this.#manifest.agent_id });
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

/** What the agent says before its result: an event of the call, a question or a notification. */
async function take(
  said: Said,
  call: McpCall,
  context: CallContext,
): Promise<EventBody | undefined> {
  if (isQuestion(said)) {
    await call.answer(said, (signal) => askCaller(said, context, signal));
    return undefined;
  }
  const body = toEventBody(said);
  if (body) return body;
  if (context.notify) await context.notify(said);
  else logNotification(context.log, said);
  return undefined;
}

/** A question that an older agent asks by a request of its own. */
async function askCaller(
  { id, method, params }: JSONRPCRequest,
  { ask }: CallContext,
  signal: AbortSignal | undefined,
): Promise<RpcAnswer | undefined> {
  const questions = [toQuestion(String(id), method, params)];
  const [response] = (await ask?.(questions, signal && { signal })) ?? [];
  return response && toRpcAnswer(method, response);
}

/** What a request carries beside the call itself when it goes on with one. */
interface Round {
  readonly requestState?: unknown;
  readonly inputResponses?: Fields;
  /** Of the task that an older agent made of the call: its result is waited for. */
  readonly taskId?: string;
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

/** Asks the caller what the agent wants to know; without any question the agent wants more time. */
async function nextRound(result: Fields, { ask, signal }: CallContext): Promise<Round> {
  const { requestState } = result;
  const state = requestState === undefined ? {} : { requestState };
  const questions = questionsIn(result);
  if (questions.length === 0) {
    await waitForNextRound(signal);
    return state;
  }
  if (!ask) throw failure('input_required', { inputs: questions });
  const handle = requestState === undefined ? {} : { request_state: requestState };
  const responses = await ask(questions, { handle });
  return { ...state, inputResponses: toInputResponses(responses) };
}

function logNotification(log: Log, { method, params }: JSONRPCNotification): void {
  const said = bounded(JSON.stringify(params?.data ?? null));
  log.debug({ method, level: params?.level, said }, 'agent log');
}

function failedHealth(error: FabricError, attempt: ConnectionAttempt | undefined): Health {
  const checked_at = new Date().toISOString();
  if (attempt && error.code === 'TIMEOUT') {
    return { status: 'starting', checked_at, ...whyStarting(attempt) };
  }
  const isThere = error.code === 'AUTH_DENIED' || error.code === 'RATE_LIMITED';
  return { status: isThere ? 'degraded' : 'offline', checked_at, ...toHealthReason(error) };
}

/** `upstream` is what a child process wrote so far; agents over HTTP have none. */
function whyStarting({ since, upstream }: ConnectionAttempt): Partial<Health> {
  const at = new Date(since).toISOString();
  if (!upstream) {
    const fix = 'check that the address is that of an MCP server';
    return { message: `Connecting since ${at}, without an answer so far`, fix };
  }
  const hasWritten = Object.keys(upstream).length > 0;
  return {
    message: `Started at ${at}, it has ${hasWritten ? 'not answered in MCP' : 'written nothing'} so far`,
    ...(hasWritten && { upstream }),
    fix: 'wait if it is being installed, else check that its command runs an MCP server on stdio',
  };
}

/** Between two requests of an agent that wants to be asked again, without any question. */
const PACING_MS = 1_000;

async function waitForNextRound(signal: AbortSignal): Promise<void> {
  try {
    await delay(PACING_MS, undefined, { signal });
  } catch {
    throw FabricError.from(signal.reason);
  }
}
