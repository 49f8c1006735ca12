// The one decision table (docs/trust.md). Rows that deny come first, then rows that always ask, then
// the columns from left to right: nothing foreign read yet, all targets grounded, otherwise.

import type { ITool } from '@starloom/sdk';
import type { ToolRequest, Verdict } from '../core/seams.ts';
import { effectOf } from './effect.ts';
import type { ForeignText, Grounds } from './grounds.ts';
import { show } from './hidden-text.ts';
import { brokenLabel } from './labels.ts';
import { notesOn } from './notes.ts';
import { type TrustPolicy, toolRule } from './policy.ts';
import { findSecrets, isSensitivePath } from './secrets.ts';
import type { CallParts, Target } from './targets.ts';
import { nameWords, toolNames } from './tool-name.ts';
import { sourceOf } from './tool-source.ts';
import { isUrlText, urlsIn } from './urls.ts';

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
}

const ALLOWED: Finding = { decision: 'allow', rule: 'allowed', reasons: [] };

export function decide(facts: CallFacts): Finding {
  const { request, tool, policy, userIsForeign, grounds, unvetted } = facts;
  const denied = denyRow(facts);
  if (denied) return denied;
  if (request.origin === 'user' && !userIsForeign) return ALLOWED;
  const asked = askRow(facts);
  if (asked) return asked;
  const effect = effectOf(tool, request.call.args);
  if (effect === 'act' && toolRule(policy, tool.name) === 'allow') return ALLOWED;
  if (request.origin !== 'model') return effect === 'read' ? ALLOWED : remoteAct(tool);
  if (grounds.foreign.length === 0 && unvetted.length === 0) return ALLOWED;
  return (effect === 'read' ? readRow(facts) : actRow(facts)) ?? ALLOWED;
}

function denyRow({ request, tool, policy, grounds, parts }: CallFacts): Finding | undefined {
  const deny = (rule: string, reason: string, fix: string): Finding => {
    return { decision: 'deny', rule, reasons: [reason], fix };
  };
  const broken = request.blocks.find((block) => brokenLabel(block));
  if (broken) {
    const reason = `a block from ${show(broken.source)} has a label that cannot be`;
    return deny('broken_label', reason, 'report this as a bug');
  }
  if (toolRule(policy, tool.name) === 'deny') {
    const fix = `change "${tool.name}" under [security.tools] of agent.toml`;
    return deny('policy_deny', 'the policy of this agent denies it', fix);
  }
  const isStranger = (one: Target) => one.kind === 'destination' && !grounds.isGrounded(one);
  const stranger = parts.targets.find(isStranger);
  const secret = stranger && secretIn(parts, grounds);
  if (!secret) return undefined;
  const reason = `it would send what looks like a secret (${secret}) to ${quote(stranger)}, which the user did not name`;
  return deny('secret_to_stranger', reason, 'send it yourself if it is meant to go there');
}

function askRow({ tool, policy, changed, parts }: CallFacts): Finding | undefined {
  if (changed) {
    const reason = `${show(sourceOf(tool))} describes ${tool.name} differently than when it was first seen`;
    return ask('description_changed', [reason], 'read the new description and approve the call');
  }
  if (toolRule(policy, tool.name) === 'ask') {
    const fix = `run it where a person can approve it, or change "${tool.name}" under [security.tools]`;
    return ask('policy_ask', ['the policy of this agent asks before every call'], fix);
  }
  const place = parts.targets.find(({ value }) => isSensitivePath(value));
  const fix = 'approve the call, or use a slash command';
  const reason = place && `${quote(place)} is a place where credentials are kept`;
  return reason ? ask('sensitive_target', [reason], fix) : undefined;
}

/** Callers over MCP and A2A: reads that are exposed run, acts need the operator's word. */
function remoteAct({ name }: ITool): Finding {
  const reason = `${name} acts, and the caller is not the user of this agent`;
  const fix = `if callers may use it, write "${name}" = "allow" under [security.tools] of agent.toml`;
  return ask('remote_act', [reason], fix);
}

/**
 * A link that stands only in foreign text is followed when the user spoke of pages or named a URL, or
 * when the link belongs to a record that the user named.
 */
function readRow({ grounds, parts }: CallFacts): Finding | undefined {
  const made = parts.targets.find(
    (one) =>
      isUrl(one) &&
      !grounds.isNamedUrl(one.value) &&
      !(
        grounds.isReadUrl(one.value) &&
        (grounds.asksForPages() || grounds.isGrounded({ ...one, kind: 'object' }))
      ),
  );
  if (!made) return undefined;
  const reason = `${quote(made)} is not a URL that the user named, nor a link of what the user asked for`;
  return ask('unknown_url', [reason], nameIt(show(made.value), true), []);
}

function actRow(facts: CallFacts): Finding | undefined {
  const { tool, grounds, parts } = facts;
  const { targets, cut } = parts;
  const loose = targets.filter((target) => !grounds.isGrounded(target));
  if (cut || loose.length > 0) return ungroundedFinding(facts, loose);
  if (targets.length === 0 && !grounds.namesTool(toolNames(tool))) {
    const name = show(nameWords(tool.name).join(' '));
    const reason = `the user did not ask to ${name}, and ${readBefore(facts)}`;
    return ask('act_not_named', [reason], `say "${name}" in the request`, grounds.foreign);
  }
  const link = foreignLink(parts, grounds);
  if (!link) return undefined;
  const reason = `its content holds the link ${show(link.url)}, which only ${show(link.origin.source)} wrote`;
  return ask('foreign_link', [reason], nameIt(show(link.url), true), [link.origin]);
}

function ungroundedFinding(facts: CallFacts, loose: readonly Target[]): Finding {
  const origins = new Map(loose.map((one) => [one, facts.grounds.originOf(one.value)]));
  const reasons = loose.slice(0, 5).map((target) => {
    const origin = origins.get(target);
    if (origin) return `${quote(target)} comes from ${show(origin.source)}`;
    return `${quote(target)} is in no text that the user wrote, and ${readBefore(facts)}`;
  });
  if (facts.parts.cut) reasons.push('it has more arguments than can be checked');
  const names = loose.slice(0, 3).map(({ argument, value }) => `${argument} (${show(value)})`);
  const fix = nameIt(
    names.join(' and '),
    loose.some(({ kind }) => kind === 'destination'),
  );
  return ask(
    'not_grounded',
    reasons,
    fix,
    [...origins.values()].flatMap((one) => one ?? []),
  );
}

/** Files on this machine may hold any link; what goes to others may not. */
function foreignLink({ targets, content }: CallParts, grounds: Grounds) {
  const isFile = ({ kind, value }: Target) => kind === 'object' && /[./\\]/.test(value);
  if (targets.length > 0 && targets.every(isFile)) return undefined;
  return content
    .flatMap(urlsIn)
    .filter((url) => !grounds.isNamedUrl(url))
    .map((url) => ({ url, origin: grounds.originOf(url) }))
    .find((link): link is { url: string; origin: ForeignText } => link.origin !== undefined);
}

function secretIn({ content, targets }: CallParts, grounds: Grounds): string | undefined {
  return [...content, ...targets.map(({ value }) => value)]
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
  const read = grounds.foreign.map(({ source }) => source);
  const sources = [...new Set([...read, ...unvetted])].filter((one) => !one.startsWith('model:'));
  const more = sources.length > 3 ? ` and ${sources.length - 3} more` : '';
  return `text of ${sources.slice(0, 3).map(show).join(', ')}${more} was read before`;
}

function nameIt(what: string, isHost: boolean): string {
  return `name ${what} in the request${isHost ? ', or add its host to known_hosts' : ''}`;
}

/** With `origins` it rests on grounds; what speaks to the model in them is noted. */
function ask(
  rule: string,
  reasons: readonly string[],
  fix: string,
  origins?: readonly ForeignText[],
): Finding {
  const notes = notesOn(origins ?? []);
  return { decision: 'ask', rule, reasons: [...reasons, ...notes], fix, byGrounds: !!origins };
}

function quote({ argument, value }: Target): string {
  return `${show(argument)} "${show(value)}"`;
}
