import type {
  AgentDetail,
  AgentRow,
  CallDetail,
  CallRow,
  CallTrace,
  Overview,
  Span,
  Topology,
  Usage,
  WhoAmI,
} from '@starloom/console/api-types';

export interface FakeWorld {
  readonly calls: CallRow[];
  made: number;
}

const AGENTS = ['percy', 'coder', 'librarian', 'flaky', 'percy-backup'];
const CAPABILITIES = ['reason', 'code', 'lookup', 'reason', 'reason'];
const CODES = ['TIMEOUT', 'AGENT_OFFLINE', 'UPSTREAM_ERROR'];
const SECOND = 1000;

/** The newest first; the same numbers give the same calls. */
export function createCalls(count: number, from = count): CallRow[] {
  return Array.from({ length: count }, (_, index) => createCall(from - index, index));
}

function createCall(number: number, age: number): CallRow {
  const place = number % AGENTS.length;
  const isError = number % 17 === 0;
  const fallback = !isError && AGENTS[place] === 'flaky';
  return {
    call_id: `call-${number}`,
    trace_id: number.toString(16).padStart(32, '0'),
    span_id: number.toString(16).padStart(16, '0'),
    at: new Date(Date.now() - age * 3 * SECOND).toISOString(),
    duration_ms: 12 + ((number * 37) % 900),
    status: isError ? 'error' : 'ok',
    principal: number % 3 === 0 ? 'ci' : 'ada',
    face: number % 4 === 0 ? 'a2a' : 'mcp',
    capability: CAPABILITIES[place] ?? 'reason',
    agent_id: fallback ? 'percy' : (AGENTS[place] ?? 'percy'),
    ...(fallback && { primary_id: 'flaky' }),
    fallback,
    attempts: fallback ? 2 : 1,
    ...(isError && { error_code: CODES[number % CODES.length] ?? 'TIMEOUT' }),
    request_bytes: 120 + (number % 90),
    response_bytes: 800 + ((number * 13) % 4000),
  };
}

export function answersFor(world: FakeWorld, path: string, url: URL): object | undefined {
  const [first, second, third] = path.split('/').map(decodeURIComponent);
  const found = { ok: true, running: true };
  switch (first) {
    case 'session':
      return { ...found, csrf: 'fake', ...whoAmI(url) };
    case 'sign-in':
      return { ...found, code: true, oauth: [] };
    case 'overview':
      return { ...found, ...overview(world) };
    case 'calls':
      return second === undefined ? undefined : traceOf(world, second, found);
    case 'agents':
      if (second === undefined) return { ...found, agents: agents(), as_of: now() };
      return third === undefined ? agentOf(second, found) : undefined;
    case 'topology':
      return { ...found, ...topology() };
    case 'usage':
      return { ...found, ...usage() };
    case 'inbox':
      return { ...found, as_of: now(), questions: [], approvals: [], held: [], off: [] };
    case 'jobs':
      return { ...found, scope: 'all', as_of: now(), jobs: [] };
    default:
      return { ok: true, running: false, part: 'audit', message: 'It is off', fix: 'turn it on' };
  }
}

const now = () => new Date().toISOString();

function whoAmI(url: URL): WhoAmI {
  return {
    principal: 'ada',
    tier: 'local',
    mode: 'psk',
    key_id: 'local',
    scopes: ['*'],
    rights: {
      calls: 'all',
      jobs: 'all',
      sessions: 'all',
      usage: 'all',
      agents: true,
      commands: false,
      keys: true,
      audit: true,
      call: true,
    },
    gateway: { version: '0.1.0', url: url.origin, started_at: now(), now: now() },
    parts: {
      journal: true,
      jobs: true,
      coordination: true,
      audit: true,
      approvals: true,
      pinning: true,
      identity: true,
      commands: false,
      registration: true,
    },
  };
}

function agents(): AgentRow[] {
  return AGENTS.map((agent_id, place) => ({
    agent_id,
    node_id: 'local',
    version: '0.1.0',
    description: 'A sample',
    protocol: 'mcp',
    transport: 'http',
    trust_tier: 'local',
    tags: ['sample'],
    health:
      place === 3
        ? { status: 'degraded', checked_at: now(), reason: 'slow', message: 'It answers slowly' }
        : { status: 'online', checked_at: now(), latency_ms: 4 },
    breaker: 'closed',
    tools: 1,
    held: 0,
    instances: 1,
    figures: { calls: 120, errors: place, fallbacks: 0, p50_ms: 20, p95_ms: 90, p99_ms: 200 },
  }));
}

function agentOf(id: string, found: object): object | undefined {
  const row = agents().find(({ agent_id }) => agent_id === id);
  if (row === undefined) return undefined;
  const detail: AgentDetail = {
    ...row,
    endpoint: { transport: 'http', uri: 'http://127.0.0.1:9/mcp' },
    fallbacks: ['percy-backup'],
    missing: [],
    instance_list: [{ node_id: 'local', state: 'active', health: row.health }],
    history: [{ at: now(), node_id: 'local', status: 'online' }],
    capabilities: [{ name: 'reason', description: 'Thinks about a text' }],
    pins: [],
    may: { approve: true, drain: true, remove: true, check: true },
  };
  return { ...found, ...detail };
}

function overview({ calls }: FakeWorld): Overview {
  const series = Array.from({ length: 60 }, (_, index) => ({
    at: new Date(Date.now() - (60 - index) * 15 * SECOND).toISOString(),
    calls: 20 + Math.round(14 * Math.sin(index / 5)) + (index % 7),
    errors: index % 9 === 0 ? 3 : 0,
    fallbacks: index % 5 === 0 ? 1 : 0,
    p50_ms: 40 + (index % 11),
    p95_ms: 160 + ((index * 7) % 60),
    p99_ms: 320 + ((index * 13) % 90),
  }));
  const total = series.reduce((sum, point) => sum + point.calls, 0);
  return {
    window: '15m',
    as_of: now(),
    scope: 'all',
    calls: {
      calls: total,
      errors: 21,
      fallbacks: 12,
      p50_ms: 46,
      p95_ms: 181,
      p99_ms: 372,
      per_minute: total / 15,
      running: 2,
      step_ms: 15 * SECOND,
      series,
      by_error: [
        { code: 'TIMEOUT', count: 14 },
        { code: 'AGENT_OFFLINE', count: 7 },
      ],
      failed: calls.filter(({ status }) => status === 'error').slice(0, 5),
      slowest: [...calls]
        .slice(0, 200)
        .sort((a, b) => (b.duration_ms ?? 0) - (a.duration_ms ?? 0))
        .slice(0, 5),
    },
    agents: {
      total: 5,
      by_health: { unknown: 0, starting: 0, online: 4, degraded: 1, offline: 0 },
      unwell: agents().filter(({ health }) => health.status !== 'online'),
      held: 1,
    },
    jobs: {
      running: true,
      by_state: {
        queued: 1,
        running: 2,
        awaiting_input: 1,
        succeeded: 48,
        failed: 1,
        cancelled: 0,
      },
    },
    inbox: 1,
    engines: [
      { name: 'jobs', kind: 'sqlite', status: 'ok', latency_ms: 1 },
      { name: 'coordination', kind: 'embedded', status: 'ok', latency_ms: 0.4 },
    ],
    checklist: { has_agent: true, has_online_agent: true, has_call: true, has_client: true },
  };
}

function traceOf({ calls }: FakeWorld, trace: string, found: object): object | undefined {
  const row = calls.find(({ trace_id }) => trace_id === trace);
  if (row === undefined) return undefined;
  const total = row.duration_ms ?? 0;
  const half = total * 0.55;
  const span = (id: string, kind: Span['kind'], name: string, from: number, length: number) => ({
    id,
    kind,
    name,
    call_id: row.call_id,
    start_ms: from,
    duration_ms: length,
    status: 'ok' as const,
    ...(id !== 'call' && { parent: 'call' }),
  });
  const failed = {
    ...span('first', 'attempt', 'flaky', 3, half),
    status: 'error' as const,
    message: 'TIMEOUT: the agent did not answer in time',
  };
  const served = span(
    'second',
    'attempt',
    row.agent_id ?? '',
    row.fallback ? half + 4 : 3,
    total - half,
  );
  const call: CallDetail = {
    ...row,
    depth: 1,
    chain: [
      { kind: 'principal', id: row.principal, tier: 'org' },
      { kind: 'agent', id: row.agent_id ?? '' },
    ],
    tier: 'org',
    origin_tier: 'org',
    labels: [{ name: 'origin', value: 'org' }],
    policy: { rule: 'default', effect: 'allow' },
    route: {
      candidates: [
        { agent_id: row.primary_id ?? row.agent_id ?? '', reason: 'named by the caller' },
      ],
      skipped: [],
    },
    tries: [
      ...(row.fallback
        ? [
            {
              agent_id: 'flaky',
              status: 'error' as const,
              start_ms: 3,
              duration_ms: half,
              error_code: 'TIMEOUT',
            },
          ]
        : []),
      { agent_id: row.agent_id ?? '', status: 'ok', start_ms: half, duration_ms: total - half },
    ],
    events: [
      { type: 'token', count: 42, first_ms: half, last_ms: total - 2 },
      { type: 'final', count: 1, first_ms: total, last_ms: total },
    ],
  };
  const data: CallTrace = {
    trace_id: trace,
    as_of: now(),
    is_running: false,
    calls: [call],
    duration_ms: total,
    spans: [
      span('call', 'call', `${row.primary_id ?? row.agent_id} · ${row.capability}`, 0, total),
      span('admit', 'admit', 'admitted', 0, 1),
      span('route', 'route', 'routed', 1, 2),
      ...(row.fallback ? [failed] : []),
      served,
    ],
  };
  return { ...found, ...data };
}

function topology(): Topology {
  const edge = (from: string, to: string, calls: number, errors: number, as_fallback = 0) => ({
    from,
    to,
    calls,
    errors,
    fallbacks: 0,
    as_fallback,
    per_minute: calls / 60,
    p95_ms: 120,
    capabilities: ['reason'],
  });
  return {
    window: '1h',
    as_of: now(),
    scope: 'all',
    nodes: [
      { id: 'principal:ada', kind: 'principal', name: 'ada', calls: 300, errors: 4 },
      { id: 'principal:ci', kind: 'principal', name: 'ci', calls: 90, errors: 0 },
      ...AGENTS.map((name) => ({
        id: `agent:${name}`,
        kind: 'agent' as const,
        name,
        health: name === 'flaky' ? ('degraded' as const) : ('online' as const),
        calls: 80,
        errors: name === 'flaky' ? 12 : 0,
      })),
    ],
    edges: [
      edge('principal:ada', 'agent:percy', 180, 0),
      edge('principal:ada', 'agent:flaky', 60, 12),
      edge('principal:ci', 'agent:coder', 90, 0),
      edge('agent:percy', 'agent:librarian', 44, 0),
      edge('agent:librarian', 'agent:percy', 2, 0),
      edge('principal:ada', 'agent:percy-backup', 12, 0, 12),
    ],
    loops: [['agent:percy', 'agent:librarian', 'agent:percy']],
  };
}

function usage(): Usage {
  const row = (key: string, calls: number) => ({
    key,
    calls,
    errors: Math.round(calls / 40),
    total_ms: calls * 60,
    request_bytes: calls * 200,
    response_bytes: calls * 1800,
    cost: 0,
  });
  const { key: _, ...total } = row('all', 520);
  return {
    by: 'agent',
    scope: 'all',
    since: new Date(Date.now() - 7 * 86_400_000).toISOString(),
    until: now(),
    rows: [row('percy', 300), row('coder', 140), row('librarian', 80)],
    total,
  };
}
