import {
  type JobEngine,
  type Journal,
  MAX_JOURNAL_PAGE,
  parseTraceId,
  USAGE_KEYS,
} from '@starloom/core';
import { type AdminArea, isMandated, mayAdministrate, type Principal } from '@starloom/identity';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { defineTool, READ_ONLY, type Tool } from './tool.ts';

const MAX_TEXT = 1_000;
const MAX_WAIT_MS = 25_000;
const MAX_WINDOWS = 5;
const DAY_MS = 86_400_000;

const text = z.string().min(1).max(MAX_TEXT);
const moment = z.int().min(0);

const filters = {
  principal: text.optional().describe('Who called; others than yourself with admin:calls'),
  agent_id: text.optional().describe('Which agent'),
  capability: text.optional().describe('Which capability, in the spelling of its agent'),
  face: z.enum(['mcp', 'a2a', 'rpc', 'job', 'http']).optional().describe('How it came'),
  status: z.enum(['running', 'ok', 'failed']).optional(),
  code: text.optional().describe('Which error'),
  since: moment.optional().describe('Began at or after, in milliseconds since 1970'),
  until: moment.optional().describe('Began before'),
  trace_id: text.optional().describe('Which trace'),
  text: text.optional().describe('Anywhere in the entry'),
};

/** What became of calls: a caller sees its own, with `admin:calls` or `admin:usage` those of all. */
export function journalTools(journal: Journal): readonly Tool[] {
  return [listTool(journal), traceTool(journal), ratesTool(journal), usageTool(journal)].map(
    (tool) => ({ ...tool, mayUse: (principal) => !isMandated(principal) }),
  );
}

function listTool(journal: Journal): Tool {
  return defineTool({
    name: 'fabric.calls.list',
    title: 'List calls',
    description:
      'Calls that were made through the gateway, the newest first. With "after", what was written since then, oldest first; "wait_ms" waits for it.',
    input: z.strictObject({
      ...filters,
      limit: z.int().min(1).max(MAX_JOURNAL_PAGE).default(50),
      before: moment.optional().describe('next of the page before'),
      after: moment.optional().describe('cursor of a page'),
      wait_ms: z.int().min(0).max(MAX_WAIT_MS).default(0),
    }),
    output: {
      calls: { type: 'array' },
      next: { type: 'integer' },
      cursor: { type: 'integer' },
    },
    annotations: READ_ONLY,
    async run({ limit, before, after, wait_ms, ...given }, caller) {
      const trace_id = given.trace_id && (parseTraceId(given.trace_id) ?? given.trace_id);
      const principal = visibleTo(caller.principal, given.principal, 'calls');
      const filter = { ...given, trace_id, principal };
      const page = await journal.list(filter, { limit, before, after });
      if (page.calls.length > 0 || after === undefined || wait_ms === 0) {
        return { ok: true, ...page };
      }
      const signal = AbortSignal.any([caller.signal, AbortSignal.timeout(wait_ms)]);
      for await (const _ of journal.follow(filter, { signal, after: page.cursor })) break;
      return { ok: true, ...(await journal.list(filter, { limit, after })) };
    },
  });
}

function traceTool(journal: Journal): Tool {
  return defineTool({
    name: 'fabric.calls.trace',
    title: 'Show a trace',
    description: 'Every call of a trace that the journal knows, in the order in which they began.',
    input: z.strictObject({ trace_id: text.describe('Which trace, in any spelling') }),
    output: { calls: { type: 'array' } },
    annotations: READ_ONLY,
    async run({ trace_id }, { principal }) {
      const id = parseTraceId(trace_id);
      const calls = id && (await journal.get(id, visibleTo(principal, undefined, 'calls')));
      if (!calls?.length) throw failure('unknown_trace', { trace_id });
      return { ok: true, calls };
    },
  });
}

function ratesTool(journal: Journal): Tool {
  return defineTool({
    name: 'fabric.calls.rates',
    title: 'Rates of calls',
    description: 'How many calls ended lately, how many failed and how long they took, by agent.',
    input: z.strictObject({
      windows_ms: z.array(z.int().min(1_000).max(DAY_MS)).min(1).max(MAX_WINDOWS).default([60_000]),
    }),
    output: { windows: { type: 'array' }, running: { type: 'array' } },
    annotations: READ_ONLY,
    async run({ windows_ms }, { principal }) {
      const own = visibleTo(principal, undefined, 'calls');
      const [windows, { calls: running }] = await Promise.all([
        journal.rates(windows_ms, { principal: own }),
        journal.list({ status: 'running', principal: own }, { limit: 100 }),
      ]);
      return { ok: true, windows, running };
    },
  });
}

function usageTool(journal: Journal): Tool {
  return defineTool({
    name: 'fabric.usage',
    title: 'Usage',
    description:
      'Calls, failures, time, cost and bytes by caller, agent, tool or day: your own, or with the scope admin:usage those of all callers.',
    input: z.strictObject({
      by: z.enum(USAGE_KEYS).default('tool'),
      since: moment.optional().describe('From the day of this moment on, in milliseconds'),
      until: moment.optional().describe('Days that began before this moment'),
      principal: filters.principal.describe('Whose; others than yourself with admin:usage'),
    }),
    output: { by: { type: 'string' }, rows: { type: 'array' } },
    annotations: READ_ONLY,
    async run({ principal: named, ...query }, { principal }) {
      const own = visibleTo(principal, named, 'usage');
      return { ok: true, by: query.by, rows: await journal.usage({ ...query, principal: own }) };
    },
  });
}

interface Erased {
  readonly journal: Journal | undefined;
  readonly jobs: Pick<JobEngine, 'erase'> | undefined;
  readonly endSessions: ((principalId: string) => Promise<number>) | undefined;
}

const ERASING: readonly AdminArea[] = ['calls', 'jobs', 'sessions', 'usage'];

/** `fabric.erase`: for operators; what is kept of a principal is removed. */
export function eraseTool({ journal, jobs, endSessions }: Erased): Tool {
  const tool = defineTool({
    name: 'fabric.erase',
    title: 'Erase a principal',
    description:
      'For operators: removes the calls, usage and jobs that are kept of a principal, and ends its sessions. The audit log is kept.',
    input: z.strictObject({ principal: text.describe('Whose data') }),
    output: {
      calls: { type: 'integer' },
      jobs: { type: 'integer' },
      open_jobs: { type: 'integer' },
      sessions: { type: 'integer' },
      kept: { type: 'array' },
    },
    annotations: { ...READ_ONLY, readOnlyHint: false, destructiveHint: true },
    async run({ principal }) {
      const sessions = (await endSessions?.(principal)) ?? 0;
      const erased = await jobs?.erase(principal);
      const calls = (await journal?.erase(principal)) ?? 0;
      const { deleted = 0, open = 0 } = erased ?? {};
      return { ok: true, principal, calls, jobs: deleted, open_jobs: open, sessions, kept: KEPT };
    },
  });
  const mayUse = (principal: Principal) =>
    !isMandated(principal) && ERASING.every((area) => mayAdministrate(principal, area));
  return { ...tool, mayUse };
}

const KEPT = [
  'the audit log, which proves what was decided',
  'keys and passports: revoke them with "starloom keys revoke" and "starloom passport revoke"',
];

/** Whose calls are shown; `undefined` is everybody's. */
function visibleTo(
  principal: Principal,
  named: string | undefined,
  area: AdminArea,
): string | undefined {
  if (mayAdministrate(principal, area)) return named;
  if (named !== undefined && named !== principal.id) throw failure('calls_of_others', { area });
  return principal.id;
}
