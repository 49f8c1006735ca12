// Judges a tool call before it runs, whoever makes it. The rules are pure and quick and always speak;
// a second model is asked only where they leave a plain "ask", and can answer no deny and no sign of
// an attack. Verdicts are never kept: each call is judged in its own context.

import type { ITool, Trust } from '@starloom/sdk';
import type { ToolFate, ToolRequest, Verdict, Verifier } from '../core/seams.ts';
import { Evidence } from './evidence.ts';
import type { TrustPolicy } from './policy.ts';
import { toolPolicy } from './policy.ts';
import { RULES, type Rule, type Weight } from './rules.ts';
import type { ScannedText } from './scanned-block.ts';
import type { SecondOpinion } from './second-opinion.ts';

export interface VerifierParts {
  readonly policy: TrustPolicy;
  readonly userTrust: Trust;
  readonly descriptions: {
    unvetted(tool: ITool): readonly ScannedText[];
    hasChanged(tool: ITool): boolean;
  };
  readonly decisions: {
    /** Why decisions cannot be written down now, if so. */
    failure(): string | undefined;
    record(request: ToolRequest, tool: ITool, verdict: Verdict, outcome: ToolFate): void;
  };
  readonly secondOpinion?: SecondOpinion | undefined;
}

interface Finding {
  readonly rule: Rule;
  readonly weight: Weight;
  readonly reason: string;
}

const DECISION = { note: 'allow', ask: 'ask', deny: 'deny' } as const satisfies Record<
  Weight,
  Verdict['decision']
>;

export function createVerifier(parts: VerifierParts): Verifier {
  const { policy, userTrust, descriptions, decisions, secondOpinion } = parts;
  return {
    verify(request, tool) {
      const failure = decisions.failure();
      if (failure) return unrecorded(failure);
      const evidence = new Evidence({
        request,
        tool,
        policy,
        userIsUntrusted: userTrust === 'untrusted',
        descriptions: descriptions.unvetted(tool),
        changed: descriptions.hasChanged(tool),
      });
      const findings = findingsOf(evidence);
      const verdict = toVerdict(findings);
      if (!secondOpinion || policy.mode === 'strict' || !isClearable(findings)) return verdict;
      return consult(secondOpinion, request, tool, verdict);
    },
    record: (request, tool, verdict, outcome) => decisions.record(request, tool, verdict, outcome),
  };
}

function findingsOf(evidence: Evidence): Finding[] {
  const { policy, tool } = evidence;
  const waived = toolPolicy(policy, tool.name) === 'allow';
  return RULES.flatMap((rule) => {
    const reason = rule.judge(evidence);
    if (!reason) return [];
    const weight = waived && rule.waivable ? 'note' : rule.weight[policy.mode];
    return { rule, weight, reason };
  });
}

function toVerdict(findings: readonly Finding[]): Verdict {
  const ordered = (['deny', 'ask', 'note'] as const).flatMap((weight) =>
    findings.filter((finding) => finding.weight === weight),
  );
  const first = ordered[0];
  const decision = DECISION[first?.weight ?? 'note'];
  return {
    decision,
    rule: first && decision !== 'allow' ? first.rule.name : 'no_objection',
    reasons: ordered.map(({ rule, reason }) => `${rule.name}: ${reason}`),
  };
}

function isClearable(findings: readonly Finding[]): boolean {
  const objections = findings.filter(({ weight }) => weight !== 'note');
  return (
    objections.length > 0 &&
    objections.every(({ rule, weight }) => weight === 'ask' && rule.clearable)
  );
}

async function consult(
  secondOpinion: SecondOpinion,
  request: ToolRequest,
  tool: ITool,
  verdict: Verdict,
): Promise<Verdict> {
  const opinion = await secondOpinion(request, tool);
  const reasons = [...verdict.reasons, `second_opinion: ${opinion}`];
  return opinion === 'follows'
    ? { decision: 'allow', rule: 'second_opinion', reasons }
    : { ...verdict, reasons };
}

function unrecorded(failure: string): Verdict {
  const reason = `unrecorded: decisions cannot be written down (${failure}); make the state folder writable`;
  return { decision: 'deny', rule: 'unrecorded', reasons: [reason] };
}
