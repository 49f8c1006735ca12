// Spans of an agent, made from what its bus shows: a turn, each question to the model, each tool call and
// each refusal, named as the GenAI and MCP conventions of OpenTelemetry name them. A span has the ids that
// the call itself carries on, so the gateways and servers that a tool calls stand below it. Contents of
// messages, arguments and results stand in no span.

import { revealText } from '@starloom/config';
import {
  type Clock,
  childTrace,
  type FabricError,
  type Log,
  type Trace,
  toW3cSpanId,
  toW3cTraceId,
} from '@starloom/core';
import { ATTRIBUTE, type EndedSpan, knownAttributes, openTelemetry, teeLog } from '@starloom/wire';
import type { AgentFile } from './config/agent-file.ts';
import { type AgentEvent, type AgentEventOf, createEmit, type EventBus } from './core/event-bus.ts';
import { toAgentId } from './guard.ts';

/** Where a tool comes from, such as `mcp:<server>`. */
type SourceOf = (tool: string) => string | undefined;

interface AgentTelemetry {
  /** Writes to the log that was given; where a collector is configured, it gets the lines as well. */
  readonly log: Log;
  observe(bus: EventBus, sourceOf: SourceOf): void;
  close(): Promise<void>;
}

/** A command ends with its agent: it does not wait long for a collector that is down. */
const TIMES = { exportMs: 1_500, shutdownMs: 2_000 };

export function openAgentTelemetry(agent: AgentFile, log: Log): AgentTelemetry {
  const { name, version } = agent;
  const { otlp } = agent.telemetry;
  const telemetry = openTelemetry({
    otlp: otlp === null ? null : revealText(otlp),
    service: toAgentId(name),
    version,
    log,
    times: TIMES,
  });
  if (!telemetry.enabled) return { log, observe: () => {}, close: async () => {} };
  return {
    log: teeLog(log, telemetry),
    observe(bus, sourceOf) {
      const spans = new AgentSpans(agent, sourceOf, (span) => telemetry.record(span));
      bus.onAny((event) => spans.take(event));
    },
    close: () => telemetry.shutdown(),
  };
}

export function refusalsOn(bus: EventBus, clock: Clock) {
  return (trace: Trace, tool: string, { code, message }: FabricError): void => {
    const emit = createEmit(bus, { sessionId: 'inbound', trace, clock });
    emit('SAFETY:REFUSED', { tool, code, message });
  };
}

interface OpenTurn {
  readonly startMs: number;
  readonly isRemote: boolean;
  inputTokens: number;
  outputTokens: number;
}

type Facts = Pick<EndedSpan, 'name' | 'kind' | 'startMs' | 'endMs'> & {
  readonly attributes: Parameters<typeof knownAttributes>[0];
  readonly code?: string | undefined;
  readonly failure?: string | undefined;
};

/**
 * Adds the fraction to a time in whole milliseconds: what follows within one of them is shown in its order. Two
 * times differ as the monotonic clock says, but for steps of the wall clock.
 */
export function createExactTime(monotonic = () => performance.now()): (now: number) => number {
  let offset = Number.NEGATIVE_INFINITY;
  return (now) => {
    const moment = monotonic();
    const least = now - moment;
    if (least > offset || least < offset - 1) offset = least;
    return moment + offset;
  };
}

class AgentSpans {
  readonly #agent: AgentFile;
  readonly #sourceOf: SourceOf;
  readonly #record: (span: EndedSpan) => void;
  /** By the id of their span. */
  readonly #turns = new Map<string, OpenTurn>();
  readonly #exactTime = createExactTime();

  constructor(agent: AgentFile, sourceOf: SourceOf, record: (span: EndedSpan) => void) {
    this.#agent = agent;
    this.#sourceOf = sourceOf;
    this.#record = record;
  }

  take(given: AgentEvent): void {
    const event = { ...given, at: this.#exactTime(given.at) };
    const { type, data } = event;
    if (type === 'INPUT:MESSAGE') this.#begin(event, data.origin === 'remote');
    else if (type === 'INPUT:COMMAND') this.#begin(event, false);
    else if (type === 'EXEC:MODEL') this.#model(event);
    else if (type === 'EXEC:TOOL_RESULT') this.#tool(event);
    else if (type === 'SAFETY:REFUSED') this.#refusal(event);
    else if (type === 'STREAM:END') this.#end(event);
    else if (type === 'STREAM:ERROR') this.#end(event, data);
  }

  #begin({ at, trace }: AgentEvent, isRemote: boolean): void {
    const turn = { startMs: at, isRemote, inputTokens: 0, outputTokens: 0 };
    this.#turns.set(trace.span_id, turn);
  }

  #end({ at, trace, sessionId }: AgentEvent, failed?: { code: string; message: string }): void {
    const turn = this.#turns.get(trace.span_id);
    this.#turns.delete(trace.span_id);
    const { name } = this.#agent;
    this.#add(trace, {
      name: `invoke_agent ${name}`,
      kind: turn?.isRemote ? 'server' : 'internal',
      startMs: turn?.startMs ?? at,
      endMs: at,
      code: failed?.code,
      failure: failed?.message,
      attributes: {
        [ATTRIBUTE.operation]: 'invoke_agent',
        [ATTRIBUTE.conversation]: sessionId,
        ...this.#modelAttributes(),
        [ATTRIBUTE.inputTokens]: turn?.inputTokens,
        [ATTRIBUTE.outputTokens]: turn?.outputTokens,
      },
    });
  }

  #model({ at, trace, sessionId, data }: AgentEventOf<'EXEC:MODEL'>): void {
    const { ms, purpose, metadata, code } = data;
    const { inputTokens, outputTokens } = metadata?.usage ?? {};
    const turn = this.#turns.get(trace.span_id);
    if (turn) {
      turn.inputTokens += inputTokens ?? 0;
      turn.outputTokens += outputTokens ?? 0;
    }
    const attributes = this.#modelAttributes();
    this.#add(childTrace(trace), {
      name: `chat ${attributes[ATTRIBUTE.requestModel] ?? attributes[ATTRIBUTE.provider]}`,
      kind: 'client',
      startMs: at - ms,
      endMs: at,
      code,
      attributes: {
        [ATTRIBUTE.operation]: 'chat',
        [ATTRIBUTE.conversation]: sessionId,
        ...attributes,
        [ATTRIBUTE.responseModel]: metadata?.model,
        [ATTRIBUTE.inputTokens]: inputTokens,
        [ATTRIBUTE.outputTokens]: outputTokens,
        [ATTRIBUTE.purpose]: purpose,
      },
    });
  }

  /** A tool that calls another server is a client of it, one that another agent calls a server. */
  #tool({ at, sessionId, data }: AgentEventOf<'EXEC:TOOL_RESULT'>): void {
    const { call, origin, ms, code, span } = data;
    const source = this.#sourceOf(call.name);
    const isRemote = origin === 'remote';
    const overMcp = isRemote || source?.startsWith('mcp:') === true;
    const callsOut = overMcp || source?.startsWith('agent:') === true;
    this.#add(span, {
      name: overMcp ? `tools/call ${call.name}` : `execute_tool ${call.name}`,
      kind: isRemote ? 'server' : callsOut ? 'client' : 'internal',
      startMs: at - ms,
      endMs: at,
      code,
      attributes: {
        [ATTRIBUTE.operation]: 'execute_tool',
        [ATTRIBUTE.tool]: call.name,
        [ATTRIBUTE.toolCallId]: call.id,
        [ATTRIBUTE.method]: overMcp ? 'tools/call' : undefined,
        [ATTRIBUTE.conversation]: isRemote ? undefined : sessionId,
        [ATTRIBUTE.origin]: origin,
      },
    });
  }

  #refusal({ at, trace, data }: AgentEventOf<'SAFETY:REFUSED'>): void {
    const { tool, code, message } = data;
    this.#add(trace, {
      name: `tools/call ${tool}`,
      kind: 'server',
      startMs: at,
      endMs: at,
      code,
      failure: message,
      attributes: { [ATTRIBUTE.method]: 'tools/call', [ATTRIBUTE.tool]: tool },
    });
  }

  #modelAttributes() {
    const { provider } = this.#agent;
    return {
      [ATTRIBUTE.provider]: 'package' in provider ? provider.package : provider.kind,
      [ATTRIBUTE.requestModel]: 'model' in provider ? provider.model : undefined,
    };
  }

  #add(trace: Trace, { attributes, code, failure = code, ...span }: Facts): void {
    const { name, version } = this.#agent;
    const { trace_id, span_id, parent_span_id } = trace;
    this.#record({
      ...span,
      traceId: toW3cTraceId(trace_id),
      spanId: toW3cSpanId(span_id),
      parentSpanId: parent_span_id === null ? undefined : toW3cSpanId(parent_span_id),
      failure,
      attributes: knownAttributes({
        [ATTRIBUTE.agentId]: toAgentId(name),
        [ATTRIBUTE.agentName]: name,
        [ATTRIBUTE.agentVersion]: version,
        ...attributes,
        [ATTRIBUTE.errorType]: code,
        [ATTRIBUTE.errorCode]: code,
      }),
    });
  }
}
