// What the tools of a gateway answer with, as far as commands show it.

import type {
  Attempt,
  CallResult,
  Capability,
  Health,
  HealthEntry,
  HeldCapability,
  JournalCall,
  JournalPage,
  JournalRates,
  Manifest,
  Registration,
  RegistryStatus,
  Trace,
  UsageRow,
} from '@starloom/core';
import type { JobDocument } from '@starloom/jobs';
import { paint } from './terminal-text.ts';

export interface ToolPayloads {
  'fabric.agent.list': { readonly agents: readonly AgentView[] };
  'fabric.agent.describe': { readonly agent: AgentView };
  'fabric.agent.register': Registration;
  'fabric.agent.heartbeat': { readonly next_before: number };
  'fabric.agent.drain': object;
  'fabric.agent.leave': object;
  'fabric.agent.remove': { readonly removed: boolean };
  'fabric.agent.history': { readonly entries: readonly HealthEntry[] };
  'fabric.route.preview': {
    readonly primary: RouteRow | null;
    readonly fallbacks: readonly RouteRow[];
    readonly skipped: readonly { readonly agent_id: string; readonly reason: string }[];
  };
  'fabric.health': {
    readonly gateway: { readonly status: string; readonly version: string; uptime_s: number };
    readonly registry: RegistryStatus;
    readonly engines: Readonly<Record<string, EngineRow>>;
    readonly agents: { readonly list: readonly AgentRow[] };
  };
  'fabric.call': {
    readonly result: CallResult;
    readonly agent_id: string;
    readonly attempts: readonly Attempt[];
    readonly conversation_id?: string;
    readonly trace: Trace;
    /** Instead of a result, when the call is a job. */
    readonly job_id?: string;
    readonly state?: string;
  };
  'fabric.calls.list': JournalPage;
  'fabric.calls.trace': { readonly calls: readonly JournalCall[] };
  'fabric.calls.rates': {
    readonly windows: readonly JournalRates[];
    readonly running: readonly JournalCall[];
  };
  'fabric.erase': {
    readonly calls: number;
    readonly jobs: number;
    readonly open_jobs: number;
    readonly sessions: number;
    readonly kept: readonly string[];
  };
  'fabric.usage': { readonly rows: readonly UsageRow[] };
  'fabric.job.status': JobPayload;
  'fabric.job.stream': JobPayload;
  'fabric.job.cancel': JobPayload;
  'fabric.job.retry': JobPayload;
  'fabric.job.input': JobPayload;
  'fabric.job.list': { readonly jobs: readonly JobDocument[]; readonly next_cursor?: string };
}

type JobPayload = { readonly job: JobDocument };

export type AgentView = Omit<Manifest, 'capabilities'> & {
  readonly capabilities: readonly Capability[];
  readonly health: Health;
  readonly instructions?: string;
  readonly held?: readonly HeldCapability[];
  /** Declared capabilities that the agent does not offer. */
  readonly missing?: readonly { readonly name: string; readonly near?: string }[];
};

export type ToolName = keyof ToolPayloads;

interface RouteRow {
  readonly agent_id: string;
  readonly kind: string;
  readonly health: string;
  readonly reason: string;
}

export interface EngineRow {
  readonly kind: string;
  readonly status: string;
  readonly reason?: string;
  readonly fix?: string;
  readonly warnings?: readonly { readonly fix: string }[];
}

export interface AgentRow {
  readonly agent_id: string;
  readonly status: string;
  readonly breaker: string;
  readonly message?: string;
  readonly upstream?: unknown;
  readonly fix?: string;
  readonly held?: readonly HeldCapability[];
}

type Offering = Pick<AgentView, 'capabilities' | 'description' | 'health' | 'held'>;

const FEW = 4;

/**
 * What waits for approval, then the capabilities: the number first where the names will hardly fit,
 * what the agent is for where they are few.
 */
export function offersOf({ capabilities, description, health, held }: Offering): string {
  const names = capabilities.map(({ name }) => name);
  const waiting = paint('yellow', toWaiting(held));
  if (names.length === 0) return waiting || noneYet(health);
  const before = waiting ? `${waiting}; ` : '';
  if (names.length > FEW) return `${before}${names.length}: ${names.join(', ')}`;
  return before + names.join(', ') + (description ? `: ${description}` : '');
}

/** Such as `1 changed, 2 new`. */
export function toWaiting(held: Offering['held'] = []): string {
  const words = { changed: 'changed', new: 'new', look_alike: 'look-alike' } as const;
  return Object.entries(words)
    .map(([reason, word]) => [held.filter((one) => one.reason === reason).length, word] as const)
    .flatMap(([number, word]) => (number > 0 ? `${number} ${word}` : []))
    .join(', ');
}

function noneYet({ status }: Health): string {
  const isReached = status === 'online' || status === 'degraded';
  return paint('dim', isReached ? '(none)' : '(not reached yet)');
}
