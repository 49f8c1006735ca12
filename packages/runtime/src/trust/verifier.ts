// Judges a tool call before it runs, whatever its origin: first that decisions can be recorded, then
// the decision table, then the plan. A second model, where one is configured, may answer what rests on
// grounds alone. A yes of a person covers the same tool and targets until the turn ends.

import { canonicalJson } from '@starloom/core';
import type { ITool, Trust } from '@starloom/sdk';
import type { ToolFate, ToolRequest, Verdict, Verifier } from '../core/seams.ts';
import { type CallFacts, decide, type Finding, factsOf } from './decide.ts';
import { effectOf } from './effect.ts';
import type { Plans } from './plans.ts';
import type { TrustPolicy } from './policy.ts';
import type { SecondOpinion } from './second-opinion.ts';
import type { ToolPins } from './tool-pins.ts';
import { sourceOf } from './tool-source.ts';

export interface VerifierParts {
  readonly policy: TrustPolicy;
  readonly userTrust: Trust;
  readonly pins: Pick<ToolPins, 'unvetted' | 'hasChanged' | 'accept'>;
  readonly decisions: {
    /** Why decisions cannot be recorded now, if so. */
    failure(): string | undefined;
    record(request: ToolRequest, tool: ITool, verdict: Verdict, outcome: ToolFate): void;
  };
  readonly roots: readonly string[];
  readonly toolNamed: (name: string) => ITool | undefined;
  readonly plans: Plans;
  readonly secondOpinion?: SecondOpinion | undefined;
}

const MOST_APPROVALS = 1000;

export function createVerifier(parts: VerifierParts): Verifier {
  const { policy, userTrust, pins, decisions, roots, toolNamed, plans, secondOpinion } = parts;
  const approvals = new Set<string>();
  const factsFor = (request: ToolRequest, tool: ITool): CallFacts =>
    factsOf({
      request,
      tool,
      policy,
      roots,
      toolNamed,
      userIsForeign: userTrust === 'untrusted',
      unvetted: pins.unvetted(tool),
      changed: pins.hasChanged(tool),
    });

  return {
    verify(request, tool) {
      const failure = decisions.failure();
      if (failure) return unrecorded(failure);
      const facts = factsFor(request, tool);
      const finding = decide(facts);
      if (finding.decision === 'allow') return plans.check(facts) ?? toVerdict(finding);
      if (!finding.byGrounds) return toVerdict(finding);
      if (approvals.has(approvalKey(facts))) {
        return {
          decision: 'allow',
          rule: 'approved',
          reasons: ['a person approved it in this turn'],
        };
      }
      return secondOpinion ? consult(secondOpinion, facts, finding) : toVerdict(finding);
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
  return [sessionId, trace.trace_id, tool.name, canonicalJson(toJson(targets))].join(' ');
}

function toJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? 'null');
}

async function consult(
  secondOpinion: SecondOpinion,
  { request, tool }: CallFacts,
  finding: Finding,
): Promise<Verdict> {
  const opinion = await secondOpinion(request, tool);
  const reasons = [...finding.reasons, `second opinion: ${opinion}`];
  return opinion === 'follows'
    ? { decision: 'allow', rule: 'second_opinion', reasons }
    : { ...toVerdict(finding), reasons };
}

function toVerdict({ byGrounds: _, ...verdict }: Finding): Verdict {
  return verdict;
}

function unrecorded(failure: string): Verdict {
  return {
    decision: 'deny',
    rule: 'unrecorded',
    reasons: [`decisions cannot be recorded (${failure})`],
    fix: 'make the state folder writable',
  };
}
