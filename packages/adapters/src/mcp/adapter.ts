// Agents that speak MCP, of either era, over HTTP or as child processes.

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
  type ConnectionAttempt,
  cancelAnswer,
  type Exchange,
  type Headers,
  isQuestion,
  type Lane,
  type LaneLease,
  type ListKind,
  McpClient,
  type McpConnection,
  type RequestOptions,
  rpcErrorOf,
  type Said,
  type Tool,
  throwUnsent,
  toParamHeaders,
} from '@starloom/mcp-client';
import { cleanText, deadlineSignal, streamTurns } from '@starloom/wire';
import { parseOptions } from '../upstream/options.ts';
import { unanswered } from '../upstream/unanswered.ts';
import { toToolArguments } from './arguments.ts';
import { mcpOptionsSchema } from './options.ts';
import { paced } from './pacing.ts';
import { questionsIn, toInputResponses, toQuestion, toRpcAnswer } from './questions.ts';
import type { McpRelay } from './relay.ts';
import { needsTask, toCapability } from './to-capability.ts';
import { toEventBody, toFinal, toToolCall, wantsInput } from './translate.ts';
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
const LONGEST_BACKOFF_MS = 30_000;

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
      longestBackoffMs: manifest.endpoint.transport === 'stdio' ? LONGEST_BACKOFF_MS : undefined,
      log,
    });
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { agent_id, capability } = envelope.target;
    let exchange: Exchange | undefined;
    let lease: LaneLease | undefined;
    let taskId: string | undefined;
    try {
      const leased = this.#client.acquire(context.signal);
      lease = leased instanceof Promise ? await leased : leased;
      const { lane } = lease;
      for (let round = firstRound(context); ; ) {
        exchange = await this.#begin(lane, envelope, context, round);
        let last: FinalData | undefined;
        while (!exchange.isRead) {
          const said = await exchange.next();
          if (!said) break;
          const body = await this.#take(said, lane, envelope, context);
          if (body?.type === 'final') last = body.data;
          else if (body) yield body;
          const turn = streamTurns.enter();
          if (turn) await turn;
        }
        const result = exchange.result();
        taskId = taskId === undefined ? taskIn(result, lane.shared.current) : undefined;
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
      exchange?.abandon();
      if (taskId !== undefined) lease?.lane.shared.current?.send('tasks/cancel', { taskId });
      lease?.[Symbol.dispose]();
    }
  }

  #begin(lane: Lane, envelope: Envelope, context: CallContext, round: Round): Promise<Exchange> {
    const { taskId } = round;
    return lane.requests.begin(context.signal, (connection) =>
      taskId === undefined
        ? this.#callTool(lane, envelope, connection, context, round)
        : connection.send('tasks/result', toTaskRequest(taskId, envelope), {
            progress: true,
            principal: envelope.auth.principal_id ?? undefined,
          }),
    );
  }

  /** What the agent says before its result: an event of the call, a question or a notification. */
  async #take(
    said: Said,
    lane: Lane,
    envelope: Envelope,
    context: CallContext,
  ): Promise<EventBody | undefined> {
    if (isQuestion(said)) {
      await this.#answer(lane, said, envelope.auth.principal_id, context);
      return undefined;
    }
    const body = toEventBody(said);
    if (body) return body;
    if (context.notify) await context.notify(said);
    else logNotification(context.log, said);
    return undefined;
  }

  /** A question that an older agent asks by a request of its own. */
  async #answer(
    lane: Lane,
    question: JSONRPCRequest,
    principal: string | null,
    context: CallContext,
  ): Promise<void> {
    const { method, params } = question;
    const { current } = lane.shared;
    using open = current?.isHttp ? undefined : this.#client.openQuestion(lane, principal);
    try {
      const asked = [toQuestion(String(question.id), method, params)];
      const [response] = (await context.ask?.(asked, open && { signal: open.signal })) ?? [];
      current?.respond(question, response ? toRpcAnswer(method, response) : cancelAnswer(method));
    } catch (error) {
      current?.respond(question, cancelAnswer(method));
      throw error;
    }
  }

  request(method: string, params: Fields | undefined, options: RequestOptions): Promise<Fields> {
    return this.#client.request(method, params, options);
  }

  async serverCapabilities({ signal }: { signal: AbortSignal }): Promise<ServerCapabilities> {
    return (await this.#client.connection(signal)).capabilities;
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
      const { server, instructions } = await this.#client.connection(signal);
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

  /** Sends at once when the tool is known, or need not be. */
  #callTool(
    { catalog }: Lane,
    envelope: Envelope,
    connection: McpConnection,
    context: CallContext,
    round: Round,
  ): Exchange | Promise<Exchange> {
    const capability = findCapability(this.#manifest, envelope.target.capability);
    const name = capability?.tool ?? envelope.target.capability;
    const schema = capability?.input_schema;
    const send = (tool: Tool | undefined) => {
      if (tool) context.confirm?.(toCapability(tool));
      const toolArguments = toToolArguments(envelope.input, schema ?? tool?.inputSchema);
      const call = toToolCall(tool?.name ?? name, toolArguments, envelope, context);
      const task = tool && needsTask(tool) && takesTasks(connection) ? { task: {} } : undefined;
      return connection.send('tools/call', Object.assign(call, round, task), {
        progress: true,
        principal: envelope.auth.principal_id ?? undefined,
        headers: tool && paramHeadersOf(tool, toolArguments),
      });
    };
    const tools = catalog.peek(connection);
    const tool = tools?.get(name);
    if (tool || (schema && !tools && !context.confirm)) return send(tool);
    const finding = catalog.find(name, connection, context.signal).catch(throwUnsent);
    return finding.then((found) => send(found ?? unknownTool(name)));
  }
}

function unknownTool(tool: string): never {
  throw new FabricError('CAPABILITY_NOT_FOUND', 'The agent does not have this tool', {
    details: { reason: 'unknown_tool', tool, sent: false, fix: 'see what it lists' },
  });
}

function paramHeadersOf({ paramHeaders }: Tool, args: Fields): Headers | undefined {
  return paramHeaders.length === 0 ? undefined : toParamHeaders(paramHeaders, args);
}

/** What a request carries beside the call itself when it goes on with one. */
interface Round {
  readonly requestState?: unknown;
  readonly inputResponses?: Fields;
  /** Of the task that an older agent made of the call: its result is waited for. */
  readonly taskId?: string;
}

/** Whether an older agent lets calls become tasks. */
function takesTasks({ era, capabilities }: McpConnection): boolean {
  const { tasks }: Fields = { ...capabilities };
  return era === 'legacy' && isObject(tasks) && isObject(tasks.requests);
}

/** The task that an older agent made of a call. */
function taskIn({ task }: Fields, connection: McpConnection | undefined): string | undefined {
  const isTask = connection && takesTasks(connection) && isObject(task);
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
    await paced(signal);
    return state;
  }
  if (!ask) throw unanswered(questions);
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
