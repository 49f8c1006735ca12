// Judges a tool call before it runs, whatever its origin: first that decisions can be recorded, then the
// decision table, with the plan of the turn if there is one. A yes of a person covers the same call until
// the turn ends, and what the question said of the plan.

import type { Block, ITool, Trust } from '@starloom/sdk';
import type { ToolRequest, Verdict, Verifier } from '../core/seams.ts';
import type { Decisions } from '../decision-log/decisions.ts';
import type { ToolPins } from '../tool-pins/tool-pins.ts';
import { type CallFacts, decide, deny } from './decide.ts';
import { Grounds, type GroundsOptions } from './grounds.ts';
import { PLAN_TOOL, type Plans } from './plans.ts';
import { partsOf } from './targets.ts';
import { sourceOf } from './tool-name.ts';

export interface VerifierParts extends Pick<GroundsOptions, 'policy' | 'toolNamed'> {
  readonly rootsFor: (tool: ITool) => readonly string[];
  readonly constantsFor: (tool: ITool) => readonly string[];
  readonly userTrust: Trust;
  readonly pins: ToolPins;
  readonly decisions: Decisions;
  readonly plans: Plans;
}

const MOST_APPROVALS = 1000;

export function createVerifier(parts: VerifierParts): Verifier {
  const { policy, userTrust, pins, decisions, rootsFor, constantsFor, toolNamed, plans } = parts;
  const approvals = new Set<string>();
  const factsFor = (request: ToolRequest, tool: ITool): CallFacts => ({
    request,
    tool,
    policy,
    grounds: new Grounds({
      blocks: request.blocks,
      policy,
      tool,
      roots: rootsFor(tool),
      constants: constantsFor(tool),
      isFreeAtFirst: pins.unvetted(tool).length === 0,
      toolNamed,
    }),
    parts: partsOf(tool, request.call.args),
    userIsForeign: userTrust === 'untrusted',
    unvetted: pins.unvetted(tool),
    changed: pins.hasChanged(tool),
  });

  /**
   * A plan is stated before anything foreign is read; a person can add to it later. Where the request itself came
   * from others, a person is shown the plan. One that comes late does not count: each call is judged by itself.
   */
  const statePlan = async ({ request, grounds, unvetted }: CallFacts): Promise<Verdict> => {
    const { origin, blocks, call } = request;
    const foreign = blocks.filter(({ trust }) => trust === 'untrusted');
    const isAsked = ({ role, source }: Block) => role === 'user' && !source.startsWith('file:');
    const asked = new Set(foreign.filter(isAsked).map(({ id }) => id));
    const isPasted = grounds.foreign.length > foreign.length;
    const isRead = foreign.some((one) => (one.taintedBy ?? [one.id]).some((id) => !asked.has(id)));
    const known = plans.has(request) ? await plans.of(request, []) : undefined;
    const plan = plans.preview(call.args, known);
    if (typeof plan === 'string') return deny('bad_plan', plan, 'correct it, or go on without one');
    if (!known && (isRead || isPasted || unvetted.length > 0 || origin !== 'model'))
      return deny('late_plan', 'a plan is stated before anything is read', 'go on without one');
    if (!known && foreign.length === 0) {
      plans.keep(request, plan);
      return { decision: 'allow', rule: 'allowed', reasons: [] };
    }
    const why = known ? 'it adds to the plan after others were read' : 'others made the request';
    const fix = 'go on with the plan of this turn';
    return { decision: 'ask', rule: 'plan_changed', reasons: [why], fix, plan: plan.lines() };
  };

  return {
    async verify(request, tool) {
      const failure = decisions.failure();
      if (failure) {
        const reason = `decisions cannot be recorded (${failure})`;
        return deny('unrecorded', reason, 'make the state folder writable');
      }
      const facts = factsFor(request, tool);
      if (tool.name === PLAN_TOOL) return await statePlan(facts);
      const first = decide(facts);
      // Only what rests on grounds can rest on a plan; what no foreign text could have caused needs none.
      const plan = first.byGrounds ? await plans.of(request, facts.grounds.userWords) : undefined;
      const finding = plan ? decide({ ...facts, plan }) : first;
      if (finding.decision === 'allow' || !finding.byGrounds) return finding;
      if (!approvals.has(approvalKey(facts))) return finding;
      return { decision: 'allow', rule: 'approved', reasons: ['approved in this turn'] };
    },

    async approved(request, tool, { rule }) {
      const facts = factsFor(request, tool);
      if (rule === 'description_changed') pins.accept(sourceOf(tool), tool.name);
      if (tool.name === PLAN_TOOL) await plans.extendBy(request);
      if (approvals.size >= MOST_APPROVALS) approvals.clear();
      approvals.add(approvalKey(facts));
      await plans.extend(request, tool, facts);
    },

    record: (request, tool, verdict, outcome) => decisions.record(request, tool, verdict, outcome),
  };
}

/** The whole call, its content included. Of one turn: all its calls have one trace. */
function approvalKey({ request, tool }: CallFacts): string {
  const { trace, sessionId, call } = request;
  return [sessionId, trace.trace_id, tool.name, JSON.stringify(call.args)].join(' ');
}
