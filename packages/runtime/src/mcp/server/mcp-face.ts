// An agent as other MCP clients see it. Everything that comes in passes the recursion guard and then
// goes the one path of every tool call, with origin `remote`.

import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { FabricError, type Fields, type Log, RecentMap, type Trace } from '@starloom/core';
import { type ListKind, showsForms, toFailedResult } from '@starloom/mcp-client/server';
import { z } from 'zod';
import type { Agent } from '../../agent.ts';
import { ASK, callerOf, type ExposedTool, ExposedTools } from '../../core/exposed-tools.ts';
import type { AgentFace, InboundCall } from '../../core/seams.ts';
import { type AgentGuard, answerTrace, type Carriers } from '../../guard.ts';
import type { MandateCheck, MandateRule } from '../../mandate-check.ts';
import { failure } from '../../reasons.ts';
import type { Asking, McpApprovals } from './mcp-approvals.ts';
import { Resources } from './resources.ts';
import { progressOf, toResult } from './to-result.ts';

export interface McpFaceOptions {
  /** Calls that the agent makes and those that come in must meet in its one guard. */
  readonly agent: AgentFace & Pick<Agent, 'guard' | 'config'>;
  /** With which the agent was opened; absent: no client is asked. */
  readonly approvals?: McpApprovals | undefined;
  readonly log: Log;
}

/** What a transport knows of a request. */
interface Inbound {
  readonly context: ServerContext;
  /** Lower-case names; empty where there are no headers. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** What its client declared that it can do. */
  readonly capabilities?: Readonly<Fields>;
}

/** A call that may run, whatever it is for. */
type ServedCall = Omit<InboundCall, 'call' | 'origin'> & { readonly origin: 'remote' };

const MAX_SESSIONS = 10_000;

const askSchema = z.strictObject({
  prompt: z.string().min(1),
  session_id: z.string().optional(),
});

export class AgentMcpFace {
  readonly agent: AgentFace;
  readonly tools: ExposedTools;
  readonly resources: Resources;
  readonly log: Log;
  readonly #guard: AgentGuard;
  readonly #checkMandate: MandateCheck | undefined;
  readonly #approvals: McpApprovals | undefined;
  /** Sessions that began here: a caller cannot go on with others. */
  readonly #sessions = new RecentMap<true>(MAX_SESSIONS);
  readonly #calls = new Set<Promise<unknown>>();
  readonly #listeners = new Set<(kind: ListKind) => void>();
  readonly #unwatch: (() => void)[];
  #listed: string;

  private constructor(
    { agent, log, approvals }: McpFaceOptions,
    resources: Resources,
    checkMandate: MandateCheck | undefined,
  ) {
    this.agent = agent;
    this.log = log;
    this.resources = resources;
    this.tools = new ExposedTools(agent, agent.config.agent.mcp, log);
    this.#guard = agent.guard;
    this.#checkMandate = checkMandate;
    this.#approvals = approvals;
    this.#listed = JSON.stringify(this.tools.list());
    this.#unwatch = [
      agent.onToolsChanged(() => this.#compare()),
      resources.onChange(() => this.#notify('resources')),
    ];
  }

  /** POLICY_DENIED when `mcp.resources` names something outside the agent's folder. */
  static async open(options: McpFaceOptions): Promise<AgentMcpFace> {
    const { agent, log } = options;
    const { agentId } = agent.guard;
    const { folder, agent: file } = agent.config;
    const { resources: paths, mandate } = file.mcp;
    const resources = await Resources.open({ paths, folder, agentId, log });
    return new AgentMcpFace(options, resources, await openCheck(mandate, agentId));
  }

  onListChanged(listener: (kind: ListKind) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A call that went wrong is a result that says so. */
  async callTool(tool: ExposedTool, args: unknown, inbound: Inbound): Promise<Asking> {
    const { context, headers, capabilities = {} } = inbound;
    const serve = (own: ServerContext) => this.#serve(tool, args, { context: own, headers });
    const call =
      this.#approvals && showsForms(capabilities)
        ? this.#approvals.serve(context, capabilities, serve).catch((error: unknown) => {
            const trace = answerTrace({ meta: context.mcpReq._meta, headers });
            return toFailedResult(FabricError.from(error).toPayload(trace));
          })
        : serve(context);
    this.#calls.add(call);
    return await call.finally(() => this.#calls.delete(call));
  }

  /** Resolves when no call is being served. */
  async idle(): Promise<void> {
    while (this.#calls.size > 0) await Promise.all(this.#calls);
  }

  close(): void {
    for (const stop of this.#unwatch) stop();
    this.#listeners.clear();
    this.resources.close();
    this.#approvals?.close();
  }

  async #serve(
    tool: ExposedTool,
    args: unknown,
    { context, headers }: Inbound,
  ): Promise<CallToolResult> {
    const { _meta: meta } = context.mcpReq;
    let carriers: Carriers = { meta, headers };
    let admitted: Trace | undefined;
    try {
      const checked = await this.#checkMandate?.(meta, headers);
      carriers = { ...carriers, mandated: checked?.mandated };
      using call = this.#guard.admit(carriers, tool.name);
      admitted = call.trace;
      const known = {
        ...{ origin: 'remote' as const, trace: call.trace, hop: call.hop },
        mandate: checked?.mandate,
        signal: context.mcpReq.signal,
        onEvent: progressOf(context, this.#guard.agentId, call.trace),
      };
      return await (tool === ASK ? this.#ask(args, known) : this.#call(tool, args, known));
    } catch (thrown) {
      const error = FabricError.from(thrown);
      const trace = admitted ?? answerTrace(carriers);
      if (admitted === undefined) this.#guard.onRefused(trace, tool.name, error);
      const { code, details } = error;
      this.log.debug({ ...trace, tool: tool.name, code, reason: details.reason }, 'call refused');
      return toFailedResult(error.toPayload(trace));
    }
  }

  async #call({ name }: ExposedTool, args: unknown, known: ServedCall): Promise<CallToolResult> {
    const call = { name, args: args ?? {} };
    const { result, error } = await this.agent.callTool({ call, ...known });
    if (error) throw error;
    return toResult(result.output, { agent_id: this.#guard.agentId, trace: known.trace });
  }

  async #ask(args: unknown, known: ServedCall): Promise<CallToolResult> {
    const { prompt, session_id: given } = parseAsk(args);
    if (given !== undefined && !this.#sessions.get(given)) throw failure('unknown_session');
    const { segments, sessionId, steps, usage } = await this.agent.turn(prompt, {
      ...known,
      source: callerOf(known.hop, 'mcp:client'),
      ...(given !== undefined && { sessionId: given }),
    });
    this.#sessions.set(sessionId, true);
    const { trace } = known;
    const call = { agent_id: this.#guard.agentId, trace, session_id: sessionId, steps, usage };
    return toResult(segments, call);
  }

  #compare(): void {
    const listed = JSON.stringify(this.tools.list());
    if (listed === this.#listed) return;
    this.#listed = listed;
    this.#notify('tools');
  }

  #notify(kind: ListKind): void {
    for (const listener of [...this.#listeners]) listener(kind);
  }
}

/** What verifies is loaded only where it is wanted. */
async function openCheck(
  rule: MandateRule | undefined,
  agentId: string,
): Promise<MandateCheck | undefined> {
  if (rule === undefined) return undefined;
  const { createMandateCheck } = await import('../../mandate-check.ts');
  return createMandateCheck(rule, agentId);
}

function parseAsk(args: unknown): z.output<typeof askSchema> {
  const parsed = askSchema.safeParse(args);
  if (parsed.success) return parsed.data;
  const problem = z.prettifyError(parsed.error);
  throw failure('arguments', { tool: ASK.name, problem, fix: 'give a prompt' });
}
