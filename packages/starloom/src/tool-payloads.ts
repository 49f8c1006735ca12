// What the tools of a gateway answer with, as far as commands show it.

import type {
  Attempt,
  CallResult,
  Capability,
  Health,
  HeldCapability,
  Manifest,
  Trace,
} from '@starloom/core';
import type { JobDocument } from '@starloom/jobs';

export interface ToolPayloads {
  'fabric.agent.list': { readonly agents: readonly AgentView[] };
  'fabric.agent.describe': { readonly agent: AgentView };
  'fabric.route.preview': {
    readonly primary: RouteRow | null;
    readonly fallbacks: readonly RouteRow[];
    readonly skipped: readonly { readonly agent_id: string; readonly reason: string }[];
  };
  'fabric.health': {
    readonly gateway: {
      readonly status: string;
      readonly version: string;
      readonly uptime_s: number;
    };
    readonly registry: {
      readonly ok: boolean;
      readonly kind: string;
      readonly agents: number;
      readonly message?: string;
    };
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
  'fabric.job.status': JobPayload;
  'fabric.job.stream': JobPayload;
  'fabric.job.cancel': JobPayload;
  'fabric.job.retry': JobPayload;
  'fabric.job.input': JobPayload;
  'fabric.job.list': { readonly jobs: readonly JobDocument[]; readonly next_cursor?: string };
}

interface JobPayload {
  readonly job: JobDocument;
}

/** An agent as a gateway shows it. */
export type AgentView = Omit<Manifest, 'capabilities'> & {
  readonly capabilities: readonly Capability[];
  readonly health: Health;
  /** How the agent says it is used. */
  readonly instructions?: string;
  /** What waits for approval. */
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
