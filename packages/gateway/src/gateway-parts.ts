// The parts of a gateway that follow from its configuration alone.

import type { Coordination } from '@starloom/coordination';
import { FabricError, type JobEngine, type Log } from '@starloom/core';
import { Authoriser, type Identity, LOCAL_PRINCIPAL } from '@starloom/identity';
import { Policy } from '@starloom/identity/policy';
import { findPrincipal, type GatewayConfig } from './config.ts';
import type { JobCalls } from './jobs/job-calls.ts';
import type { ScheduledCall } from './jobs/scheduled-call.ts';
import { ownOf } from './pipeline/call-limits.ts';
import { CallSlots } from './pipeline/call-slots.ts';
import type { Toolset } from './tools/catalog.ts';
import type { Engine } from './tools/engine-health.ts';
export function slotsOf({ limits }: GatewayConfig) {
  const { calls_per_principal, calls_per_agent, principals, agents } = limits;
  return {
    callerSlots: new CallSlots({
      of: 'principal',
      limit: calls_per_principal,
      own: ownOf(principals, ({ calls }) => calls),
    }),
    agentSlots: new CallSlots({
      of: 'agent',
      limit: calls_per_agent,
      own: ownOf(agents, ({ calls }) => calls),
    }),
  };
}

export function createAuthoriser({ policy }: GatewayConfig, log: Log): Authoriser {
  const onFailure = (rule: string, error: unknown) =>
    log.warn({ rule, error: FabricError.from(error) }, 'a policy rule failed, which denies');
  return new Authoriser(new Policy(policy, { onFailure }));
}

export function budgetOf({ limits }: GatewayConfig) {
  return { calls: limits.budget_calls, ms: limits.budget_ms };
}

export function enginesOf(options: {
  readonly config: GatewayConfig;
  readonly coordination?: Coordination | undefined;
  readonly jobs?: JobEngine | undefined;
  readonly identity?: Pick<Identity, 'audit'> | undefined;
}): Readonly<Record<string, Engine>> {
  const { coordination, jobs, config, identity } = options;
  const audit = identity?.audit;
  const { kind } = config.coordination;
  return {
    ...(coordination && { coordination: { kind, check: () => coordination.check() } }),
    ...(jobs && { jobs: { kind: jobs.kind, check: () => jobs.check().then(() => []) } }),
    ...(audit && { audit: { kind: 'file', check: () => audit.check().then(() => []) } }),
  };
}

/** The tools of jobs are listed with our other ones, where jobs are on. */
export function toolsetsOf({ mcp }: GatewayConfig, jobs: JobCalls | undefined): readonly Toolset[] {
  const { toolsets } = mcp;
  return jobs && toolsets.includes('fabric') ? [...toolsets, 'jobs'] : toolsets;
}

export function schedulesOf({ auth, jobs }: GatewayConfig): readonly ScheduledCall[] {
  return jobs.schedules.map(({ agent_id: agentId, principal, ...schedule }) => ({
    ...schedule,
    agentId,
    principal: findPrincipal(auth, principal) ?? LOCAL_PRINCIPAL,
  }));
}

export function jobRulesOf({ jobs }: GatewayConfig, engine: JobEngine) {
  return {
    engine,
    concurrency: jobs.concurrency,
    perAgent: jobs.per_agent,
    keepMs: jobs.keep_hours * 3_600_000,
    webhookHosts: jobs.webhook_hosts,
    quota: { jobs: jobs.per_principal, bytes: jobs.bytes_per_principal },
    aheadMs: jobs.ahead_hours * 3_600_000,
  };
}
