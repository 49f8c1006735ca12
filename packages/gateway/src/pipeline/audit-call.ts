// What policy rules are asked about a call, and what the audit log says of it: whether it was let
// through, to whom, and on whose behalf. A new fact for rules is a field of both, here.

import type { FabricError, GuardedCall, Trace } from '@starloom/core';
import { type AuditEntry, type PolicyCall, toRecordedFacts } from '@starloom/identity';
import type { Caller, CallRequest } from './call-request.ts';
import type { CallLimits } from './limits.ts';
import type { PreparedCall } from './prepare.ts';
import type { Access } from './route.ts';

export type AuditCall = (entry: AuditEntry) => void;

type AskedFor = Pick<CallRequest, 'agent_id' | 'capability'>;

interface AuditDeps {
  readonly audit: AuditCall;
  readonly limits: Pick<CallLimits, 'mayRecord'>;
}

/** What rules are asked about beside caller and target. */
export function toPolicyCall(
  { hop, originTier }: GuardedCall,
  { principal }: Pick<Caller, 'principal'>,
  time: number,
): PolicyCall {
  return { depth: hop.depth, time, originTier: originTier ?? principal.tier };
}

export function toAllowedEntry({ request, caller, guarded, candidates }: PreparedCall): AuditEntry {
  const [{ record, decision }, ...rest] = candidates;
  const { trace, hop, originTier } = guarded;
  const { principal } = caller;
  return {
    type: 'call',
    decision: decision.effect === 'degrade' ? 'degrade' : 'allow',
    rule: decision.rule,
    ...toRecordedFacts(principal, { depth: hop.depth, originTier }),
    agent_id: record.manifest.agent_id,
    capability: request.capability,
    fallbacks: rest.length > 0 ? rest.map((one) => one.record.manifest.agent_id) : undefined,
    trace_id: trace.trace_id,
    tool: caller.tool,
  };
}

export function toRefusedEntry(
  { agent_id, capability }: AskedFor,
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
    ...toRecordedFacts(caller.principal),
    ...(agent_id !== undefined && { agent_id: clip(agent_id) }),
    capability: clip(capability),
    code,
    ...(typeof details.reason === 'string' && { reason: details.reason }),
    trace_id: trace.trace_id,
    tool: clip(caller.tool),
  };
}

/** Writes down that a call was refused; one that failed is no decision. */
export function auditRefusal(
  request: AskedFor,
  caller: Caller,
  trace: Trace,
  error: FabricError,
  { audit, registry, authoriser, limits }: Access & AuditDeps,
): void {
  const { code } = error;
  const isRecorded =
    code === 'RATE_LIMITED' ? limits.mayRecord(caller.principal) : REFUSALS.has(code);
  if (!isRecorded) return;
  const { agent_id, capability } = request;
  const record = agent_id === undefined ? undefined : registry.get(agent_id);
  const rule = record && authoriser.hiddenBy(caller.principal, record.manifest, capability);
  audit(toRefusedEntry(request, caller, trace, error, rule));
}

const REFUSALS: ReadonlySet<string> = new Set([
  'AUTH_DENIED',
  'POLICY_DENIED',
  'CAPABILITY_NOT_FOUND',
  'RECURSION_LIMIT',
  'MANIFEST_CHANGED',
]);

function clip(text: string): string {
  return text.slice(0, 200).toWellFormed();
}
