// The one decision table (docs/trust.md). Rows that deny come first, then rows that always ask, then
// the columns from left to right: nothing foreign read yet, all targets grounded, otherwise.

import type { ITool } from '@starloom/sdk';
import type { ToolRequest, Verdict } from '../core/seams.ts';
import { effectOf } from './effect.ts';
import type { Grounds } from './grounds.ts';
import { notesOn, show } from './hidden-text.ts';
import { brokenLabel } from './labels.ts';
import type { Plan } from './plans.ts';
import { isAlways, type TrustPolicy, toolRule } from './policy.ts';
import { findSecrets, isSensitivePath } from './secrets.ts';
import type { CallParts, Target } from './targets.ts';
import type { ForeignText } from './texts.ts';
import { isForeign, nameWords, sourceOf } from './tool-name.ts';
import { hostOf, isHostText, isUrlText, linksIn } from './urls.ts';

export interface Finding extends Verdict {
  /** It rests on grounds alone: a yes holds for the turn, and a second model may give it. */
  readonly byGrounds?: boolean;
}

export interface CallFacts {
  readonly request: ToolRequest;
  readonly tool: ITool;
  readonly policy: TrustPolicy;
  readonly grounds: Grounds;
  readonly parts: CallParts;
  /** The person who types is not trusted in this agent. */
  readonly userIsForeign: boolean;
  /** Sources of descriptions that the model has seen and no operator has listed. */
  readonly unvetted: readonly string[];
  /** The description of the tool is not the one first seen. */
  readonly changed: boolean;
  /** Of the turn, if the model has stated one. */
  readonly plan?: Plan | undefined;
}

/** Latin letters and others in one word. */
const MIXED =
  /\p{Script=Latin}\p{L}*[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]|[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]\p{L}*\p{Script=Latin}/u;

const ALLOWED: Finding = { decision: 'allow', rule: 'allowed', reasons: [] };
const GROUNDED: Finding = { ...ALLOWED, byGrounds: true };
/** It never says what to write: what the attacker wants is not to be allowed by habit. */
const IF_WANTED =
  'if you want this, ask for it in a request of your own, or approve it where a person is asked';
const BY_OPERATOR = 'the operator of this agent decides on it';

export function decide(facts: CallFacts): Finding {
  const { request, tool, policy, userIsForeign, grounds, unvetted } = facts;
  const denied = denyRow(facts);
  if (denied) return denied;
  if (request.origin === 'user' && !userIsForeign) return ALLOWED;
  const asked = askRow(facts);
  if (asked) return asked;
  const effect = effectOf(tool, request.call.args);
  const isLasting = isAlways(policy, tool.name, facts.parts.targets);
  if (effect === 'act' && (isLasting || toolRule(policy, tool.name) === 'allow')) return ALLOWED;
  // Callers over MCP and A2A: reads that are exposed run, acts need the operator's word.
  if (request.origin !== 'model') {
    const reason = `${tool.name} acts, and the caller is not the user of this agent`;
    return effect === 'read' ? ALLOWED : ask('remote_act', [reason], BY_OPERATOR);
  }
  if (grounds.foreign.length === 0 && unvetted.length === 0) return ALLOWED;
  return (effect === 'read' ? readRow(facts) : actRow(facts)) ?? GROUNDED;
}

function denyRow({ request, tool, policy, grounds, parts }: CallFacts): Finding | undefined {
  const broken = request.blocks.find((block) => brokenLabel(block));
  if (broken) {
    const reason = `a block from ${show(broken.source)} has a label that cannot be`;
    return deny('broken_label', reason, 'report this as a bug');
  }
  if (toolRule(policy, tool.name) === 'deny') {
    return deny('policy_deny', 'the policy of this agent denies it', BY_OPERATOR);
  }
  const isStranger = (one: Target) => one.kind === 'destination' && !grounds.isGrounded(one);
  const stranger = parts.targets.find(isStranger);
  const secret = stranger && secretIn(parts, grounds);
  if (!secret) return undefined;
  const reason = `it would send what looks like a secret (${secret}) to ${quote(stranger)}, which the user did not name`;
  return deny('secret_to_stranger', reason, 'send it yourself if it is meant to go there');
}

function askRow(facts: CallFacts): Finding | undefined {
  const { tool, policy, changed, parts } = facts;
  if (changed) {
    const reason = `${show(sourceOf(tool))} describes ${tool.name} differently than when it was first seen`;
    return ask('description_changed', [reason], 'read the new description and approve the call');
  }
  if (toolRule(policy, tool.name) === 'ask' && !isAlways(policy, tool.name, parts.targets)) {
    const reason = 'the policy of this agent asks before every call';
    const asked = ask('policy_ask', [reason], 'run it where a person can approve it');
    return { ...asked, ...always(facts) };
  }
  const place = parts.targets.find(({ value }) =>
    [value, ...value.split(/[\s"'`;|&<>()=,]+/)].some(isSensitivePath),
  );
  const fix = 'approve the call, or use a slash command';
  const reason = place && `${quote(place)} is a place where credentials are kept`;
  return reason ? ask('sensitive_target', [reason], fix) : undefined;
}

/**
 * A link that stands only in foreign text is followed as the plan says; without one, when the user spoke of
 * pages or named a URL. A link of a record that the user named is always followed.
 */
function readRow(facts: CallFacts): Finding | undefined {
  const { tool, grounds, parts, plan } = facts;
  const isLink = (one: Target) =>
    (isUrl(one) || (isForeign(tool) && isHostText(one.value))) && !grounds.isNamedUrl(one.value);
  const links = parts.targets.filter(isLink);
  if (links.length === 0) return ALLOWED;
  const isWanted = (one: Target) =>
    (plan ? plan.grounds(tool, one, grounds) : isUrlText(one.value) && grounds.asksForPages()) ||
    grounds.isGrounded({ ...one, kind: 'object' });
  const made = links.find((one) => !(grounds.isReadUrl(one.value) && isWanted(one)));
  if (!made) return undefined;
  const reason = `${quote(made)} is not a URL that the user named, nor a link of what the user asked for`;
  return askOf(facts, 'unknown_url', [reason], [], [made]);
}

function actRow(facts: CallFacts): Finding | undefined {
  const { tool, grounds, parts, plan } = facts;
  const { targets, cut } = parts;
  const name = show(nameWords(tool.name).join(' '));
  if (plan && !plan.has(tool)) {
    const origins = targets.flatMap(({ value }) => grounds.originOf(value) ?? []);
    const reason = `${show(tool.name)} is not in the plan of this task, and ${readBefore(facts)}`;
    return askOf(facts, 'not_planned', [reason], origins, targets);
  }
  const isGrounded = (one: Target) =>
    grounds.isGrounded(one) || (plan?.grounds(tool, one, grounds) ?? false);
  const sure = targets.filter(isGrounded);
  const loose = targets.filter((one) => !sure.includes(one) && !isMoved(one, sure, grounds));
  if (cut || loose.length > 0) return ungroundedFinding(facts, loose);
  const isAsked = targets.length === 0 ? grounds.namesTool() : grounds.asksForKind();
  const isRepeated = plan !== undefined && targets.length === 0 && !plan.isOpen(tool, grounds);
  if (isRepeated) {
    const reason = `the plan has ${name} no more than it was done, and ${readBefore(facts)}`;
    return askOf(facts, 'not_planned', [reason], grounds.foreign, []);
  }
  if (!plan && !isAsked) {
    const reason = `the user did not ask to ${name}, and ${readBefore(facts)}`;
    return askOf(facts, 'act_not_named', [reason], grounds.foreign, []);
  }
  const link = foreignLink(facts);
  if (!link) return undefined;
  const { url, origin } = link;
  const whose = origin
    ? `which only ${grounds.titleOf(origin)} wrote`
    : 'which the user did not name';
  const reason = `its content holds the link ${show(url)}, ${whose}`;
  return askOf(facts, 'foreign_link', [reason], origin ? [origin] : [], []);
}

/** A file that keeps its name in a folder that the user named: `archive/a.md` for `notes/a.md`. */
function isMoved(target: Target, sure: readonly Target[], grounds: Grounds): boolean {
  const [, folder = '', file = ''] = /^(.+)[\\/]([^\\/]+)$/.exec(target.value) ?? [];
  const isKept = sure.some(({ value }) => /[^\\/]+$/.exec(value)?.[0] === file);
  return isKept && grounds.isGrounded({ ...target, value: folder });
}

function ungroundedFinding(facts: CallFacts, loose: readonly Target[]): Finding {
  const { grounds } = facts;
  const origins = new Map(loose.map((one) => [one, grounds.originOf(one.value)]));
  const reasons = loose.slice(0, 5).map((target) => {
    const origin = origins.get(target);
    const name = grounds.nameOf(target.value);
    const known = name === undefined ? '' : ` (${show(name)})`;
    if (origin) return `${quote(target)}${known} comes from ${grounds.titleOf(origin)}`;
    return `${quote(target)} is in no text that the user wrote, and ${readBefore(facts)}`;
  });
  if (facts.parts.cut) reasons.push('it has more arguments than can be checked');
  const known = [...origins.values()].flatMap((one) => one ?? []);
  return askOf(facts, 'not_grounded', reasons, known, loose);
}

/** Files on this machine may hold any link; what goes to others may not. */
function foreignLink({ tool, grounds, plan, parts: { targets, content } }: CallFacts) {
  const isFile = ({ kind, value }: Target) => kind === 'object' && /[./\\]/.test(value);
  if (targets.length > 0 && targets.every(isFile)) return undefined;
  return content
    .flatMap(linksIn)
    .filter((url) => !grounds.isNamedUrl(url) && !plan?.allowsLink(tool, url, grounds))
    .map((url) => ({ url, origin: grounds.originOf(hostOf(url) ?? url) }))
    .find(({ url, origin }) => origin !== undefined || /[/?#]/.test(url));
}

/** What a link of foreign text holds itself is no secret of the user: its author has it. */
function secretIn({ content, targets }: CallParts, grounds: Grounds): string | undefined {
  const own = targets.map(({ value }) => value).filter((value) => !grounds.isReadUrl(value));
  return [...content, ...own]
    .flatMap((text) => (text.includes('%') ? [text, unescapePercent(text)] : text))
    .flatMap(findSecrets)
    .find(({ value }) => !grounds.isGiven(value))?.kind;
}

function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isUrl({ argument, value }: Target): boolean {
  const isNamedUrl = /(?:^|[._-])(?:url|uri|link|href|host|hostname|domain|endpoint)s?$/i;
  return isUrlText(value) || isNamedUrl.test(argument);
}

function readBefore({ grounds, unvetted }: CallFacts): string {
  const read = grounds.foreign.filter(({ source }) => !source.startsWith('model:'));
  const sources = [...new Set([...read.map((one) => grounds.titleOf(one)), ...unvetted.map(show)])];
  const more = sources.length > 3 ? ` and ${sources.length - 3} more` : '';
  return `text of ${sources.slice(0, 3).join(', ')}${more} was read before`;
}

export function deny(rule: string, reason: string, fix: string): Finding {
  return { decision: 'deny', rule, reasons: [reason], fix };
}

function ask(rule: string, reasons: readonly string[], fix: string): Finding {
  return { decision: 'ask', rule, reasons, fix };
}

/** It rests on grounds: what a yes covers is known, and what speaks to the model in `origins` is noted. */
function askOf(
  facts: CallFacts,
  rule: string,
  reasons: readonly string[],
  origins: readonly ForeignText[],
  loose: readonly Target[],
): Finding {
  const { tool, grounds, plan } = facts;
  const known = loose.flatMap(({ argument, value }) => {
    const origin = grounds.originOf(value);
    return origin?.via ? `${show(argument)} comes from ${grounds.titleOf(origin)}` : [];
  });
  const later = `later calls of ${show(tool.name)} in this task whose ${[...new Set(known)].join(' and ')}`;
  return {
    ...ask(rule, [...reasons, ...notesOn(origins)], IF_WANTED),
    byGrounds: true,
    covers: `this call with this content${plan && known.length > 0 ? `, and ${later}` : ''}`,
    ...always(facts),
    ...(plan && { plan: plan.lines() }),
  };
}

/** What "always" would allow: the tool with these targets, never the tool alone. A `*` would allow more. */
function always({ tool, parts: { targets, cut } }: CallFacts): Pick<Finding, 'always'> {
  if (cut || targets.some(({ value }) => value.includes('*'))) return {};
  const lists = Object.entries(Object.groupBy(targets, ({ argument }) => argument));
  const values = lists.map(([argument, list = []]) => [argument, list.map(({ value }) => value)]);
  return { always: { tool: tool.name, targets: Object.fromEntries(values) } };
}

function quote({ argument, value }: Target): string {
  const isMixed = value.split(/[^\p{L}\p{M}]+/u).some((word) => MIXED.test(word));
  return `${show(argument)} "${show(value)}"${isMixed ? ' (letters of several alphabets)' : ''}`;
}
