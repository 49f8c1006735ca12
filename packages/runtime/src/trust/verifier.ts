// Judges a tool call before it runs, whatever its origin: first that decisions can be recorded, then
// the decision table, then the plan. A yes of a person covers the same tool and targets until the turn ends.

import type { ITool, Trust } from '@starloom/sdk';
import type { ToolRequest, Verdict, Verifier } from '../core/seams.ts';
import { type CallFacts, decide } from './decide.ts';
import type { Decisions } from './decisions.ts';
import { effectOf } from './effect.ts';
import { Grounds, type GroundsOptions } from './grounds.ts';
import type { Plans } from './plans.ts';
import { partsOf } from './targets.ts';
import type { ToolPins } from './tool-pins.ts';
import { sourceOf } from './tool-source.ts';

export interface VerifierParts extends Pick<GroundsOptions, 'policy' | 'toolNamed'> {
  readonly rootsFor: (tool: ITool) => GroundsOptions['roots'];
  readonly userTrust: Trust;
  readonly pins: ToolPins;
  readonly decisions: Decisions;
  readonly plans: Plans;
}

const MOST_APPROVALS = 1000;

export function createVerifier(parts: VerifierParts): Verifier {
  const { policy, userTrust, pins, decisions, rootsFor, toolNamed, plans } = parts;
  const approvals = new Set<string>();
  const factsFor = (request: ToolRequest, tool: ITool): CallFacts => ({
    request,
    tool,
    policy,
    grounds: new Grounds({ blocks: request.blocks, policy, roots: rootsFor(tool), toolNamed }),
    parts: partsOf(tool, request.call.args),
    userIsForeign: userTrust === 'untrusted',
    unvetted: pins.unvetted(tool),
    changed: pins.hasChanged(tool),
  });

  return {
    verify(request, tool) {
      const failure = decisions.failure();
      if (failure) return unrecordedVerdict(failure);
      const facts = factsFor(request, tool);
      const finding = decide(facts);
      if (finding.decision === 'allow') return plans.check(facts) ?? finding;
      if (!finding.byGrounds || !approvals.has(approvalKey(facts))) return finding;
      return { decision: 'allow', rule: 'approved', reasons: ['approved in this turn'] };
    },

    approved(request, tool, { rule }) {
      if (rule === 'description_changed') pins.accept(sourceOf(tool), tool.name);
      if (approvals.size >= MOST_APPROVALS) approvals.clear();
      approvals.add(approvalKey(factsFor(request, tool)));
    },

    record: (request, tool, verdict, outcome) => decisions.record(request, tool, verdict, outcome),
  };
}

/** Of one turn: all its calls have one trace. */
function approvalKey({ request, tool, parts }: CallFacts): string {
  const { trace, sessionId, call } = request;
  const targets = effectOf(tool, call.args) === 'act' ? parts.targets : call.args;
  return [sessionId, trace.trace_id, tool.name, JSON.stringify(targets)].join(' ');
}

function unrecordedVerdict(failure: string): Verdict {
  return {
    decision: 'deny',
    rule: 'unrecorded',
    reasons: [`decisions cannot be recorded (${failure})`],
    fix: 'make the state folder writable',
  };
}
