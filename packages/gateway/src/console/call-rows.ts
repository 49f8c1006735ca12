// Calls of the journal as the page shows them.

import type {
  Attempt,
  CallDetail,
  CallRow,
  CallStatus,
  ChainLink,
  EventCount,
  Json,
  Span,
  TryRequest,
} from '@starloom/console/api-types';
import type { JournalAttempt, JournalCall } from '@starloom/core';
import type { ConsoleParts } from './console.ts';
import { toTime } from './request.ts';

export function callIdOf({ trace_id, span_id }: Pick<JournalCall, 'trace_id' | 'span_id'>): string {
  return `${trace_id}.${span_id}`;
}

export function statusOf({ ended_at, code }: Pick<JournalCall, 'ended_at' | 'code'>): CallStatus {
  if (ended_at === null) return 'running';
  if (code === null) return 'ok';
  if (code === 'INPUT_REQUIRED') return 'input_required';
  return code === 'CANCELLED' ? 'cancelled' : 'error';
}

/** Who answered, or was asked last. */
export function servedBy({ attempts, agent_id }: JournalCall): string | undefined {
  return attempts.at(-1)?.agent_id ?? agent_id ?? undefined;
}

/** Who should have answered. */
function primaryOf({ route, attempts, agent_id }: JournalCall): string | undefined {
  return route?.[0]?.agent_id ?? attempts[0]?.agent_id ?? agent_id ?? undefined;
}

export function toCallRow(call: JournalCall): CallRow {
  const agent_id = servedBy(call);
  const primary = primaryOf(call);
  const { ms, code, job_id, session_id } = call;
  return {
    call_id: callIdOf(call),
    trace_id: call.trace_id,
    at: toTime(call.began_at),
    ...(ms !== null && { duration_ms: Math.round(ms) }),
    status: statusOf(call),
    principal: call.on_behalf_of ?? call.principal ?? '',
    face: call.face,
    capability: call.capability ?? call.tool,
    ...(agent_id !== undefined && { agent_id }),
    ...(primary !== undefined && primary !== agent_id && { primary_id: primary }),
    fallback: call.fallback,
    ...(code !== null && { error_code: code }),
    ...(job_id !== undefined && { job_id }),
    ...(session_id !== undefined && { session_id }),
    response_bytes: call.bytes_out,
  };
}

export function toCallDetail(call: JournalCall, { gateway }: ConsoleParts): CallDetail {
  const { rule, effect, route, skipped, code, message, reason, cost } = call;
  const served = servedBy(call);
  const tier = served === undefined ? undefined : gateway.registry.get(served)?.manifest.trust_tier;
  const labels = {
    'trust of the agent': tier,
    transport: call.transport,
    tool: call.tool,
    gateway: call.gateway,
  };
  return {
    ...toCallRow(call),
    depth: call.depth,
    chain: chainOf(call),
    labels: Object.entries(labels).flatMap(([name, value]) =>
      value === undefined ? [] : [{ name, value }],
    ),
    ...(rule !== undefined && { policy: { rule, effect: effect ?? 'allow' } }),
    ...(route && {
      route: {
        candidates: route.map(({ agent_id, reason: why }) => ({ agent_id, reason: why })),
        skipped: skipped ?? [],
      },
    }),
    tries: call.attempts.map(toAttempt),
    events: eventsOf(call),
    ...(code !== null && {
      error: { code, message: message ?? code, details: reason === undefined ? {} : { reason } },
    }),
    ...(cost !== undefined && { cost }),
    ...payloadsOf(call),
    ...againOf(call),
  };
}

/** On whose behalf, who acts, and the agents that the call came through. */
export function chainOf({ on_behalf_of, principal, delegate, chain }: JournalCall): ChainLink[] {
  const agents = chain.map((link) => ({ kind: 'agent' as const, id: link.split('/', 1)[0] ?? '' }));
  return [
    { kind: 'principal', id: on_behalf_of ?? principal ?? '' },
    ...(delegate === undefined ? [] : [{ kind: 'delegate' as const, id: delegate }]),
    ...agents,
  ];
}

function toAttempt({ agent_id, node_id, ms, code, reason, fallback }: JournalAttempt): Attempt {
  return {
    agent_id,
    node_id,
    kind: fallback ? 'fallback' : 'primary',
    status: ms === null ? 'running' : code === null ? 'ok' : 'error',
    ...(ms !== null && { duration_ms: ms }),
    ...(code !== null && { error_code: code }),
    ...(reason !== undefined && { message: reason }),
  };
}

function eventsOf({ events, first_events, ms }: JournalCall): EventCount[] {
  return Object.entries(events).map(([type, count = 0]) => {
    const times = first_events.filter(([of]) => of === type).map(([, at]) => at);
    const first_ms = times[0] ?? ms ?? 0;
    return { type, count, first_ms, last_ms: times.at(-1) ?? first_ms };
  });
}

function payloadsOf({ input, output }: JournalCall): Pick<CallDetail, 'request' | 'response'> {
  return {
    ...(input !== undefined && { request: parseJson(input) }),
    ...(output !== undefined && { response: parseJson(output) }),
  };
}

/** A payload that was cut is text. */
function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** With the arguments where they were kept; what was redacted in them a person writes again. */
function againOf(call: JournalCall): { readonly again?: TryRequest } {
  if (call.capability === null) return {};
  const agent_id = primaryOf(call);
  const { task, arguments: given } = (payloadsOf(call).request ?? {}) as Partial<TryRequest>;
  return {
    again: {
      ...(agent_id !== undefined && { agent_id }),
      capability: call.capability,
      ...(typeof task === 'string' && { task }),
      ...(typeof given === 'object' && given !== null && { arguments: given }),
    },
  };
}

/** The waterfall: each call with its steps, below the call that made it. */
export function toSpans(calls: readonly JournalCall[]): readonly Span[] {
  const start = Math.min(...calls.map(({ began_at }) => began_at));
  return calls.flatMap((call) => {
    const offset = call.began_at - start;
    const parent = parentOf(call, calls);
    return [
      {
        id: call.span_id,
        ...(parent !== undefined && { parent }),
        kind: 'call' as const,
        name: `${servedBy(call) ?? '?'}/${call.capability ?? call.tool}`,
        start_ms: offset,
        ...(call.ms !== null && { duration_ms: call.ms }),
        status: spanStatus(call),
        ...(call.message !== undefined && { message: call.message }),
      },
      ...stepsOf(call, offset),
    ];
  });
}

function stepsOf(call: JournalCall, offset: number): Span[] {
  const { admitted_ms, routed_ms, attempts, rule } = call;
  const step = (kind: Span['kind'], name: string, from: number, to: number): Span => ({
    id: `${call.span_id}.${kind}`,
    parent: call.span_id,
    kind,
    name,
    start_ms: offset + from,
    duration_ms: Math.max(0, to - from),
    status: 'ok',
  });
  const first = attempts[0]?.began_ms;
  const routed = rule === undefined ? 'choose an agent' : `choose an agent (rule ${rule})`;
  return [
    ...(admitted_ms === undefined ? [] : [step('admit', 'admit', 0, admitted_ms)]),
    ...(routed_ms === undefined ? [] : [step('route', routed, admitted_ms ?? 0, routed_ms)]),
    ...(first !== undefined && routed_ms !== undefined && first - routed_ms >= 1
      ? [step('wait', 'wait for a free slot', routed_ms, first)]
      : []),
    ...attempts.map((attempt, index): Span => {
      const { agent_id, ms, code, began_ms, reason } = attempt;
      const { duration_ms: _, ...plain } = step('attempt', agent_id, began_ms, began_ms);
      return {
        ...plain,
        id: `${call.span_id}.attempt.${index}`,
        ...(ms !== null && { duration_ms: ms }),
        status: ms === null ? 'running' : code === null ? 'ok' : 'error',
        ...(code !== null && { message: reason === undefined ? code : `${code}: ${reason}` }),
      };
    }),
  ];
}

/** The call that it names, or else the closest one above that ran at its time. */
function parentOf(call: JournalCall, calls: readonly JournalCall[]): string | undefined {
  const named = calls.find(({ span_id }) => span_id === call.parent_span_id);
  if (named && named !== call) return named.span_id;
  const around = calls.filter(
    (other) =>
      other.depth < call.depth &&
      other.began_at <= call.began_at &&
      (other.ended_at ?? Number.POSITIVE_INFINITY) >= call.began_at,
  );
  return around.sort((one, other) => other.depth - one.depth)[0]?.span_id;
}

function spanStatus(call: JournalCall): Span['status'] {
  const status = statusOf(call);
  if (status === 'running') return 'running';
  return status === 'error' || status === 'cancelled' ? 'error' : 'ok';
}
