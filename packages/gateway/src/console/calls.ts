// Calls, their traces, who calls whom, and usage: all from the journal.

import {
  type CallFilter,
  type CallPage,
  type CallRow,
  type CallTrace,
  type Topology,
  type TopologyEdge,
  type TopologyNode,
  USAGE_GROUPS,
  type Usage,
  WINDOWS,
  type Window,
} from '@starloom/console/api-types';
import { matchesFilter, valuesOf, wordsOf } from '@starloom/console/call-filter';
import { ERRORS, type Journal, type JournalFilter, type UsageKey } from '@starloom/core';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { agentsOf } from './agents.ts';
import { type CallFact, figuresOf } from './call-facts.ts';
import { toCallDetail, toCallRow, toSpans } from './call-rows.ts';
import {
  type ConsoleRequest,
  compact,
  type Handlers,
  ownerOf,
  parseQuery,
  scopeOf,
  toTime,
  withPart,
} from './request.ts';

/** Pages of the journal that one answer looks through; the page asks for the next ones. */
const MAX_PAGES = 20;
const DAY_MS = 24 * 3_600_000;
const MAX_LOOPS = 20;
const MAX_NAMES = 20;

export const WINDOW_MS: Readonly<Record<Window, number>> = {
  '15m': 15 * 60_000,
  '1h': 3_600_000,
  '6h': 6 * 3_600_000,
  '24h': DAY_MS,
};

const callsSchema = z.strictObject({
  agent: z.string().optional(),
  capability: z.string().optional(),
  principal: z.string().optional(),
  status: z.string().optional(),
  face: z.string().optional(),
  fallback: z.enum(['true', 'false']).optional(),
  min_ms: z
    .string()
    .regex(/^\d{1,12}$/)
    .optional(),
  q: z.string().max(256).optional(),
  cursor: z.coerce.number().int().optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
});

const usageSchema = z.strictObject({
  by: z.enum(USAGE_GROUPS).default('principal'),
  since: z.iso.datetime({ offset: true }).optional(),
});

export const callHandlers: Handlers = {
  'GET calls': withPart('journal', listCalls),
  'GET calls/:trace': withPart('journal', showTrace),
  'GET topology': withPart('journal', showTopology),
  'GET usage': withPart('journal', showUsage),
};

async function listCalls(request: ConsoleRequest, journal: Journal): Promise<CallPage> {
  const { cursor, limit, ...asked } = parseQuery(callsSchema, request);
  const filter = compact<CallFilter>(asked);
  const narrowed = { ...toJournalFilter(filter), principal: ownerOf(request.principal, 'calls') };
  const calls: CallRow[] = [];
  let next = cursor;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await journal.list(narrowed, { limit, before: next });
    calls.push(...page.calls.map(toCallRow).filter((row) => matchesFilter(row, filter)));
    next = page.next;
    if (next === undefined || calls.length >= limit) break;
  }
  return {
    scope: scopeOf(request.principal, 'calls'),
    calls,
    ...(next !== undefined && { next_cursor: String(next) }),
  };
}

/** What the journal leaves out already. Names are looked for as text: a row shows who answered, too. */
function toJournalFilter(filter: CallFilter): JournalFilter {
  const { agent, capability, principal, status = '', face, fallback, min_ms, q } = filter;
  const names = [agent, capability, principal, face].flatMap((name) =>
    name === undefined || valuesOf(name).length > 1 ? [] : [name.trim()],
  );
  return {
    ...(status in STATUSES ? STATUSES[status] : Object.hasOwn(ERRORS, status) && { code: status }),
    ...(min_ms !== undefined && { min_ms: Number(min_ms) }),
    ...(fallback === 'true' && { fallback: true }),
    text: [...names, ...wordsOf(q)],
  };
}

const STATUSES: Readonly<Record<string, JournalFilter>> = {
  running: { status: 'running' },
  ok: { status: 'ok' },
  error: { status: 'failed' },
  input_required: { code: 'INPUT_REQUIRED' },
  cancelled: { code: 'CANCELLED' },
};

async function showTrace(request: ConsoleRequest, journal: Journal): Promise<CallTrace> {
  const trace_id = request.params.trace ?? '';
  await journal.flushed();
  const calls = await journal.get(trace_id, ownerOf(request.principal, 'calls'));
  const [first] = calls;
  if (!first) throw failure('not_found/trace', { trace_id: trace_id.slice(0, 64) });
  const spans = toSpans(calls);
  const ends = spans.map(({ start_ms, duration_ms = 0 }) => start_ms + duration_ms);
  return {
    trace_id,
    calls: calls.map((call) => toCallDetail(call, request.parts)),
    spans,
    duration_ms: Math.max(...ends),
  };
}

async function showUsage(request: ConsoleRequest, journal: Journal): Promise<Usage> {
  const { by, since: given } = parseQuery(usageSchema, request);
  const until = request.parts.pipeline.deps.clock.now() + 1;
  const since = given === undefined ? until - 30 * DAY_MS : Date.parse(given);
  const keys: Record<(typeof USAGE_GROUPS)[number], UsageKey> = {
    principal: 'caller',
    agent: 'agent',
    capability: 'tool',
    day: 'day',
  };
  const principal = ownerOf(request.principal, 'usage');
  const found = await journal.usage({ by: keys[by], principal, since, until });
  const rows = found.map(({ key, calls, failed, ms, cost, bytes_in, bytes_out }) => ({
    key,
    calls,
    errors: failed,
    total_ms: ms,
    request_bytes: bytes_in,
    response_bytes: bytes_out,
    cost,
  }));
  const sum = (name: keyof Usage['total']) => rows.reduce((so, row) => so + row[name], 0);
  return {
    scope: scopeOf(request.principal, 'usage'),
    since: toTime(since),
    rows,
    total: {
      calls: sum('calls'),
      errors: sum('errors'),
      total_ms: sum('total_ms'),
      request_bytes: sum('request_bytes'),
      response_bytes: sum('response_bytes'),
      cost: sum('cost'),
    },
  };
}

const topologySchema = z.strictObject({ window: z.enum(WINDOWS).default('1h') });

async function showTopology(request: ConsoleRequest): Promise<Topology> {
  const { window } = parseQuery(topologySchema, request);
  const { parts, principal } = request;
  const from = parts.pipeline.deps.clock.now() - WINDOW_MS[window];
  const all = (await request.facts?.since(from, ownerOf(principal, 'calls'))) ?? [];
  const facts = all.filter(({ agent }) => agent !== undefined);
  const byEdge = Map.groupBy(facts, (fact) => `${nodeOf(fact)}\n${targetOf(fact)}`);
  const edges = [...byEdge].map(([key, some]): TopologyEdge => {
    const [source = '', target = ''] = key.split('\n');
    return {
      from: source,
      to: target,
      ...figuresOf(some),
      per_minute: toRate(some.length, WINDOW_MS[window]),
      capabilities: [...new Set(some.map(({ capability }) => capability))].slice(0, MAX_NAMES),
      as_fallback: some.filter(({ isFallback }) => isFallback).length,
    };
  });
  const agents = new Map(
    agentsOf(parts, principal)
      .list()
      .map(({ manifest, health }) => [manifest.agent_id, health.status]),
  );
  const ids = new Set([
    ...[...agents.keys()].map((id) => `agent:${id}`),
    ...edges.flatMap(({ from: source, to }) => [source, to]),
  ]);
  const nodes = [...ids].map((id): TopologyNode => {
    const name = id.slice(id.indexOf(':') + 1);
    const own = edges.filter(({ from: source, to }) => to === id || source === id);
    const health = id.startsWith('agent:') ? agents.get(name) : undefined;
    return {
      id,
      kind: id.startsWith('agent:') ? 'agent' : 'principal',
      name,
      ...(health !== undefined && { health }),
      calls: own.reduce((sum, { calls }) => sum + calls, 0),
    };
  });
  return {
    scope: scopeOf(principal, 'calls'),
    nodes,
    edges,
    loops: findLoops(edges),
  };
}

function nodeOf({ caller, principal }: CallFact): string {
  return caller === undefined ? `principal:${principal}` : `agent:${caller}`;
}

function targetOf({ agent = '' }: CallFact): string {
  return `agent:${agent}`;
}

export function toRate(calls: number, windowMs: number): number {
  return Math.round((calls / (windowMs / 60_000)) * 100) / 100;
}

/** Paths that lead back to where they began, each once, by its least node. */
function findLoops(edges: readonly TopologyEdge[]): string[][] {
  const next = Map.groupBy(edges, ({ from }) => from);
  const loops: string[][] = [];
  const walk = (path: readonly string[], seen: ReadonlySet<string>) => {
    const [first = ''] = path;
    for (const { to } of next.get(path.at(-1) ?? '') ?? []) {
      if (loops.length >= MAX_LOOPS) return;
      if (to === first) loops.push([...path, to]);
      else if (to > first && !seen.has(to) && path.length < MAX_LOOPS) {
        walk([...path, to], new Set([...seen, to]));
      }
    }
  };
  for (const start of next.keys()) walk([start], new Set([start]));
  return loops;
}
