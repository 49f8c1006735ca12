// Every rule by which a call is judged, in the order in which they speak. The first line of defence is
// `tainted_high_risk`: foreign words and a risky tool together need a person. The rest catch what leaks
// through tools that are not risky, and tell the person who is asked what else is odd.

import { encodedRuns } from './encoded-runs.ts';
import type { Evidence } from './evidence.ts';
import { hiddenKinds, stripHidden } from './hidden-text.ts';
import { isStrongPhrase } from './instruction-phrases.ts';
import { brokenLabel } from './labels.ts';
import { type TrustMode, toolPolicy } from './policy.ts';
import { findSecrets } from './secret-shapes.ts';
import { sensitiveTargets } from './sensitive-targets.ts';
import { isAtLeast } from './tool-risk.ts';
import { sourceOf } from './tool-source.ts';

export type Weight = 'note' | 'ask' | 'deny';

export interface Rule {
  readonly name: string;
  /** What it means when it speaks, by mode. */
  readonly weight: Readonly<Record<TrustMode, Weight>>;
  /** A policy of `allow` for the tool silences it. */
  readonly waivable?: true;
  /** A second model may overrule it. */
  readonly clearable?: true;
  /** A sentence on what is wrong, or nothing. */
  judge(evidence: Evidence): string | undefined;
}

export const RULES: readonly Rule[] = [
  {
    name: 'broken_label',
    weight: always('deny'),
    judge: ({ request }) => {
      const broken = request.blocks.find((block) => brokenLabel(block));
      return broken && `a block from ${show(broken.source)} claims to be what it cannot be`;
    },
  },
  {
    name: 'policy_deny',
    weight: always('deny'),
    judge: ({ policy, tool }) =>
      toolPolicy(policy, tool.name) === 'deny' ? 'the policy of this agent refuses it' : undefined,
  },
  {
    name: 'description_changed',
    weight: { default: 'ask', strict: 'deny', research: 'ask' },
    judge: ({ changed, tool }) =>
      changed
        ? `${show(sourceOf(tool))} describes it otherwise than when it was first seen`
        : undefined,
  },
  {
    name: 'secret_to_stranger',
    weight: { default: 'deny', strict: 'deny', research: 'ask' },
    judge: (evidence) =>
      evidence.reachesOnlyKnown ? undefined : sentSecret(evidence, 'to somebody nobody named'),
  },
  {
    name: 'secret_sent',
    weight: { default: 'ask', strict: 'deny', research: 'ask' },
    judge: (evidence) => (evidence.reachesOnlyKnown ? sentSecret(evidence, 'out') : undefined),
  },
  {
    name: 'policy_ask',
    weight: always('ask'),
    judge: ({ policy, tool }) =>
      toolPolicy(policy, tool.name) === 'ask' ? 'the policy of this agent asks first' : undefined,
  },
  {
    name: 'private_data_leaves',
    weight: { default: 'ask', strict: 'deny', research: 'ask' },
    judge: (evidence) => {
      if (!evidence.tainted || !evidence.exit || evidence.reachesOnlyKnown) return undefined;
      const own = sourceOf(evidence.tool);
      const from = evidence.sources.find(
        ({ source, runs }) =>
          source !== own &&
          !isPublic(source) &&
          evidence.args.readings.some((text) => runs.find(text, (run) => !evidence.isKnown(run))),
      );
      return from && `it would carry words of ${show(from.source)} out`;
    },
  },
  {
    name: 'sensitive_target',
    weight: { default: 'ask', strict: 'deny', research: 'ask' },
    judge: (evidence) => {
      if (!evidence.tainted) return undefined;
      const target = evidence.args.strings
        .flatMap(sensitiveTargets)
        .find(({ askedAs }) => !evidence.isKnown(askedAs));
      return target && `it reaches for ${show(target.shown)}, which nobody asked for`;
    },
  },
  {
    name: 'tainted_high_risk',
    weight: always('ask'),
    waivable: true,
    clearable: true,
    judge: ({ tainted, taintedBy, risk, tool }) =>
      tainted && risk === 'high'
        ? `${tool.name} is high risk, and ${names(taintedBy)} may have led to the call`
        : undefined,
  },
  {
    name: 'new_host',
    weight: { default: 'ask', strict: 'deny', research: 'ask' },
    waivable: true,
    judge: ({ tainted, exit, strangers }) =>
      tainted && exit && strangers.length > 0
        ? `it would reach ${names(strangers.map(({ name }) => name))}, named by neither operator nor user`
        : undefined,
  },
  {
    name: 'injected_instruction',
    weight: { default: 'ask', strict: 'deny', research: 'note' },
    judge: (evidence) => {
      const risky = isAtLeast(evidence.risk, 'medium');
      if (!risky && !evidence.exit) return undefined;
      const from = evidence.sources.find(
        (source) =>
          source.signs.phrases.some((phrase) => risky || isStrongPhrase(phrase)) &&
          evidence.isLinkedTo(source),
      );
      return from && `${show(from.source)} speaks to the model (${from.signs.phrases.join(', ')})`;
    },
  },
  {
    name: 'hidden_text',
    weight: { default: 'ask', strict: 'deny', research: 'note' },
    judge: (evidence) => {
      const from = evidence.sources.find(
        (source) =>
          source.signs.hidden.length > 0 &&
          (isAtLeast(evidence.risk, 'medium') || evidence.isLinkedTo(source)),
      );
      return from && `${show(from.source)} holds hidden text (${from.signs.hidden.join(', ')})`;
    },
  },
  {
    name: 'hidden_argument',
    weight: { default: 'ask', strict: 'deny', research: 'note' },
    judge: ({ args }) => {
      const kinds = new Set(args.strings.flatMap(hiddenKinds));
      return kinds.size > 0
        ? `its arguments hold hidden text (${[...kinds].join(', ')})`
        : undefined;
    },
  },
  {
    name: 'encoded_argument',
    weight: { default: 'ask', strict: 'deny', research: 'note' },
    judge: ({ tainted, exit, args }) =>
      tainted && exit && args.strings.some((text) => encodedRuns(text).length > 0)
        ? 'its arguments carry encoded data out'
        : undefined,
  },
  {
    name: 'unread_argument',
    weight: { default: 'ask', strict: 'deny', research: 'ask' },
    judge: ({ tainted, exit, args }) =>
      tainted && exit && args.cut ? 'its arguments are too long to be checked' : undefined,
  },
  {
    name: 'copied_argument',
    weight: { default: 'note', strict: 'ask', research: 'note' },
    waivable: true,
    clearable: true,
    judge: ({ risk, copies }) =>
      isAtLeast(risk, 'medium') && copies.length > 0
        ? 'an argument was taken from foreign words'
        : undefined,
  },
  {
    name: 'tainted_medium_risk',
    weight: { default: 'note', strict: 'ask', research: 'note' },
    waivable: true,
    clearable: true,
    judge: ({ tainted, risk, taintedBy }) =>
      tainted && risk === 'medium' ? `${names(taintedBy)} may have led to the call` : undefined,
  },
];

function sentSecret(evidence: Evidence, where: string): string | undefined {
  if (!evidence.tainted || !evidence.exit) return undefined;
  const secret = evidence.args.readings
    .flatMap(findSecrets)
    .find(({ value }) => !evidence.isKnown(value));
  return secret && `it would send what looks like a secret (${secret.kind}) ${where}`;
}

/** What anybody can read is no secret to leak. */
function isPublic(source: string): boolean {
  return /^(?:tool:(?:https?|web|browser|fetch|time)|description):/.test(source);
}

function always(weight: Weight): Record<TrustMode, Weight> {
  return { default: weight, strict: weight, research: weight };
}

function names(list: readonly string[]): string {
  const shown = list.slice(0, 3).map(show);
  return list.length > 3 ? `${shown.join(', ')} and ${list.length - 3} more` : shown.join(', ');
}

/** Safe to print: short, one line, nothing hidden. */
function show(text: string): string {
  const plain = stripHidden(text).replaceAll(/[\p{Cc}\s]+/gu, ' ');
  return plain.length > 80 ? `${plain.slice(0, 77)}…` : plain;
}
