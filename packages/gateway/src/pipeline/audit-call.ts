// What the audit log says of a call: whether it was let through, to whom, and on whose behalf.

import type { FabricError, GuardedCall, Trace } from '@starloom/core';
import { type AuditEntry, grantOf, onBehalfOf } from '@starloom/identity';
import type { Access } from './authorise.ts';
import type { CallLimits } from './call-limits.ts';
import type { Caller, CallRequest } from './call-request.ts';
import type { Route } from './route.ts';

export type AuditCall = (entry: AuditEntry) => void;

interface AuditDeps {
  readonly audit: AuditCall;
  readonly limits: Pick<CallLimits, 'mayRecord'>;
}

export function allowed(
  { capability }: CallRequest,
  caller: Caller,
  { trace, hop, originTier }: GuardedCall,
  candidates: Route['candidates'],
): AuditEntry {
  const [{ record, decision }, ...rest] = candidates;
  const { principal } = caller;
  return {
    type: 'call',
    decision: decision.effect === 'degrade' ? 'degrade' : 'allow',
    rule: decision.rule,
    principal: onBehalfOf(principal),
    delegate: principal.delegation?.delegateId,
    grant: grantOf(principal),
    mode: principal.mode,
    tier: principal.tier,
    origin_tier: originTier,
    agent_id: record.manifest.agent_id,
    capability,
    fallbacks: rest.length > 0 ? rest.map((one) => one.record.manifest.agent_id) : undefined,
    trace_id: trace.trace_id,
    depth: hop.depth,
    tool: caller.tool,
  };
}

export function refused(
  { agentId, capability }: Pick<CallRequest, 'agentId' | 'capability'>,
  caller: Caller,
  trace: Trace,
  { code, details }: FabricError,
  hiddenBy?: string,
): AuditEntry {
  const rule = hiddenBy ?? details.rule;
  return {
    type: 'call',
    decision: 'deny',
    ...(typeof rule === 'string' && { rule }),
    ...whoOf(caller),
    ...(agentId !== undefined && { agent_id: clip(agentId) }),
    capability: clip(capability),
    code,
    ...(typeof details.reason === 'string' && { reason: details.reason }),
    trace_id: trace.trace_id,
    tool: clip(caller.tool),
  };
}

/** Writes down that a call was refused; one that failed is no decision. */
export function auditRefusal(
  request: Pick<CallRequest, 'agentId' | 'capability'>,
  caller: Caller,
  trace: Trace,
  error: FabricError,
  { audit, registry, authoriser, limits }: Access & AuditDeps,
): void {
  const { code } = error;
  const isRecorded =
    code === 'RATE_LIMITED' ? limits.mayRecord(caller.principal) : REFUSALS.has(code);
  if (!isRecorded) return;
  const { agentId, capability } = request;
  const record = agentId === undefined ? undefined : registry.get(agentId);
  const rule = record && authoriser.hiddenBy(caller.principal, record.manifest, capability);
  audit(refused(request, caller, trace, error, rule));
}

const REFUSALS: ReadonlySet<string> = new Set([
  'AUTH_DENIED',
  'POLICY_DENIED',
  'CAPABILITY_NOT_FOUND',
  'RECURSION_LIMIT',
  'MANIFEST_CHANGED',
]);

function whoOf({ principal }: Caller) {
  const { mode, tier, delegation } = principal;
  return {
    principal: onBehalfOf(principal),
    ...(delegation && { delegate: delegation.delegateId }),
    grant: grantOf(principal),
    mode,
    tier,
  };
}

function clip(text: string): string {
  return text.slice(0, 200).toWellFormed();
}
