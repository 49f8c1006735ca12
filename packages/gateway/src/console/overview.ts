// What is going on, on one page.

import {
  type CallRow,
  type Checklist,
  type EngineView,
  HEALTH_STATES,
  JOB_STATES,
  type Overview,
  WINDOWS,
  type Window,
} from '@starloom/console/api-types';
import type { Journal } from '@starloom/core';
import { z } from 'zod';
import { engineHealth } from '../tools/health.ts';
import { agentsOf, toAgentRow } from './agents.ts';
import { type CallFact, figuresOf } from './call-facts.ts';
import { toCallRow } from './call-rows.ts';
import { toRate, WINDOW_MS } from './calls.ts';
import {
  type ConsoleRequest,
  type Handlers,
  notRunning,
  ownerOf,
  parseQuery,
  scopeOf,
} from './request.ts';

const querySchema = z.strictObject({ window: z.enum(WINDOWS).default('1h') });
const MAX_UNWELL = 20;

export const overviewHandlers: Handlers = { 'GET overview': overview };

async function overview(request: ConsoleRequest): Promise<Overview> {
  const { parts, principal } = request;
  const { window } = parseQuery(querySchema, request);
  const agents = agentsOf(parts, principal).list();
  const count = (status: string) => agents.filter(({ health }) => health.status === status).length;
  const worst = ['offline', 'degraded', 'starting', 'unknown'];
  const unwell = worst.flatMap((status) => agents.filter(({ health }) => health.status === status));
  return {
    scope: scopeOf(principal, 'calls'),
    ...(await callFigures(request, window)),
    agents: {
      total: agents.length,
      by_health: Object.fromEntries(
        HEALTH_STATES.map((status) => [status, count(status)]),
      ) as Overview['agents']['by_health'],
      unwell: unwell.slice(0, MAX_UNWELL).map((record) => toAgentRow(parts, record)),
      held: agents.reduce((sum, { held }) => sum + held.length, 0),
    },
    jobs: await jobCounts(request),
    engines: await engines(request),
    checklist: await toChecklist(request, agents.length, count('online')),
  };
}

/** Of all jobs, for those that may see them. */
async function jobCounts({ parts, principal }: ConsoleRequest): Promise<Overview['jobs']> {
  const { jobs } = parts.pipeline;
  if (!jobs) return notRunning('jobs');
  if (scopeOf(principal, 'jobs') === 'all') {
    return { running: true, by_state: (await jobs.engine.counts()).states };
  }
  const counted = JOB_STATES.map(async (state) => {
    const page = await jobs.desk.list({ principalId: principal.id, state, limit: 1_000 });
    return [state, page.jobs.length] as const;
  });
  return { running: true, by_state: Object.fromEntries(await Promise.all(counted)) as never };
}

async function engines({ parts }: ConsoleRequest): Promise<readonly EngineView[]> {
  const { clock } = parts.pipeline.deps;
  return await Promise.all(
    Object.entries(parts.engines).map(async ([name, engine]) => {
      const health = { code: '', warnings: [], ...(await engineHealth(engine, clock)) };
      const { code: _, warnings: __, ...shown } = health;
      return { name, ...shown };
    }),
  );
}

const STEPS = 60;
const MAX_ROWS = 5;

/** Of the window until now, in steps of equal length. */
async function callFigures(
  request: ConsoleRequest,
  window: Window,
): Promise<Pick<Overview, 'calls' | 'journal'>> {
  const { parts, principal, facts } = request;
  const { journal } = parts.gateway;
  if (!journal || !facts) return { journal: notRunning('journal') };
  const owner = ownerOf(principal, 'calls');
  const step_ms = WINDOW_MS[window] / STEPS;
  const now = parts.pipeline.deps.clock.now();
  const from = (Math.floor(now / step_ms) - STEPS + 1) * step_ms;
  const counted = await facts.since(from, owner);
  const bySteps = Map.groupBy(counted, ({ endedAt }) => Math.floor((endedAt - from) / step_ms));
  const codes = Map.groupBy(
    counted.filter(({ isError }) => isError),
    ({ code }) => code ?? '',
  );
  const slowest = counted.toSorted((one, other) => other.ms - one.ms).slice(0, MAX_ROWS);
  const failed = await journal.list(
    { status: 'failed', since: from, principal: owner },
    { limit: MAX_ROWS },
  );
  return {
    calls: {
      ...figuresOf(counted),
      per_minute: toRate(counted.length, WINDOW_MS[window]),
      running: facts.running(owner),
      step_ms,
      series: Array.from({ length: STEPS }, (_, step) => ({
        at: new Date(from + step * step_ms).toISOString(),
        ...figuresOf(bySteps.get(step) ?? []),
      })),
      by_error: [...codes]
        .map(([code, some]) => ({ code, count: some.length }))
        .sort((one, other) => other.count - one.count),
      slowest: await rowsOf(journal, slowest),
      failed: failed.calls.map(toCallRow),
    },
  };
}

async function rowsOf(journal: Journal, facts: readonly CallFact[]): Promise<readonly CallRow[]> {
  const found = facts.map(async ({ traceId, spanId }) => {
    const calls = await journal.get(traceId);
    return calls.filter(({ span_id }) => span_id === spanId).map(toCallRow);
  });
  return (await Promise.all(found)).flat();
}

async function toChecklist(
  { parts, principal, facts }: ConsoleRequest,
  agents: number,
  online: number,
): Promise<Checklist> {
  const since = parts.pipeline.deps.clock.now() - WINDOW_MS['24h'];
  const calls = (await facts?.since(since, ownerOf(principal, 'calls'))) ?? [];
  const good = calls.filter(({ isError }) => !isError);
  return {
    has_agent: agents > 0,
    has_online_agent: online > 0,
    has_call: good.length > 0,
    has_client: good.some(({ face }) => face !== 'console'),
  };
}
