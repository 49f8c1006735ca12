// The one decision table (docs/trust.md). Rows that deny come first, then rows that always ask, then
// the columns from left to right: nothing foreign read yet, all targets grounded, otherwise.

import type { ITool } from '@starloom/sdk';
import type { ToolRequest } from '../core/seams.ts';
import { effectOf } from './effect.ts';
import { type ForeignText, Grounds } from './grounds.ts';
import { brokenLabel } from './labels.ts';
import { notesOn } from './notes.ts';
import { type TrustPolicy, toolRule } from './policy.ts';
import { findSecrets } from './secret-shapes.ts';
import { isSensitivePath } from './sensitive-targets.ts';
import { show } from './show.ts';
import { type CallParts, partsOf, type Target, URL_VALUE } from './targets.ts';
import { nameWords, toolNames } from './tool-name.ts';
import { sourceOf } from './tool-source.ts';
import { urlsIn } from './urls.ts';

export interface Finding {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly rule: string;
  readonly reasons: readonly string[];
  readonly fix?: string;
  /** It rests on grounds alone: a yes holds for the turn, and a second model may give it. */
  readonly byGrounds?: true;
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

export interface FactsOptions extends Omit<CallFacts, 'grounds' | 'parts'> {
  readonly roots: readonly string[];
  readonly toolNamed: (name: string) => ITool | undefined;
}

export function factsOf({ roots, toolNamed, ...given }: FactsOptions): CallFacts {
  const { request, tool, policy } = given;
  return {
    ...given,
    grounds: new Grounds({ blocks: request.blocks, policy, roots, toolNamed }),
    parts: partsOf(tool, request.call.args),
  };
}

const ALLOWED: Finding = { decision: 'allow', rule: 'allowed', reasons: [] };

export function decide(facts: CallFacts): Finding {
  const denied = denyRow(facts);
  if (denied) return denied;
  const { request, userIsForeign } = facts;
  if (request.origin === 'user' && !userIsForeign) return ALLOWED;
  const asked = askRow(facts);
  if (asked) return asked;
  const effect = effectOf(facts.tool, request.call.args);
  if (request.origin !== 'model') return remoteRow(facts, effect);
  return effect === 'read' ? readRow(facts) : actRow(facts);
}

function denyRow({ request, tool, policy, grounds, parts }: CallFacts): Finding | undefined {
  const broken = request.blocks.find((block) => brokenLabel(block));
  if (broken) {
    const reason = `a block from ${show(broken.source)} has a label that cannot be`;
    return {
      decision: 'deny',
      rule: 'broken_label',
      reasons: [reason],
      fix: 'report this as a bug',
    };
  }
  if (toolRule(policy, tool.name) === 'deny') {
    const fix = `change "${tool.name}" under [security.tools] of agent.toml`;
    return deny('policy_deny', 'the policy of this agent denies it', fix);
  }
  const stranger = parts.targets.find(
    (target) => target.kind === 'destination' && !grounds.isGrounded(target),
  );
  const secret = stranger && secretIn(parts, grounds);
  if (!secret) return undefined;
  const reason = `it would send what looks like a secret (${secret}) to ${quote(stranger)}, which the user did not name`;
  return deny('secret_to_stranger', reason, 'send the secret yourself if it is meant to go there');
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
  const sensitive = parts.targets.find(({ value }) => isSensitivePath(value));
  if (!sensitive) return undefined;
  const reason = `${quote(sensitive)} is a place where credentials are kept`;
  return ask('sensitive_target', [reason], 'approve the call, or use a slash command');
}

/** Callers over MCP and A2A: reads that are exposed run, acts need the operator's word. */
function remoteRow({ tool, policy }: CallFacts, effect: 'read' | 'act'): Finding {
  if (effect === 'read' || toolRule(policy, tool.name) === 'allow') return ALLOWED;
  const reason = `${tool.name} acts, and the caller is not the user of this agent`;
  const fix = `if callers may use it, write "${tool.name}" = "allow" under [security.tools] of agent.toml`;
  return ask('remote_act', [reason], fix);
}

function readRow({ grounds, parts, unvetted }: CallFacts): Finding {
  if (grounds.foreign.length === 0 && unvetted.length === 0) return ALLOWED;
  const unknown = parts.targets.find(
    (target) =>
      isUrl(target) &&
      !grounds.isGrounded(target) &&
      !grounds.isNamedUrl(target.value) &&
      !grounds.isReadUrl(target.value),
  );
  if (!unknown) return ALLOWED;
  const reason = `${quote(unknown)} is neither a URL that the user named nor one that a result contains`;
  return {
    ...ask(
      'unknown_url',
      [reason],
      `name ${show(unknown.value)} in the request, or add its host to known_hosts`,
    ),
    byGrounds: true,
  };
}

function actRow(facts: CallFacts): Finding {
  const { tool, policy, grounds, parts, unvetted } = facts;
  if (toolRule(policy, tool.name) === 'allow') return ALLOWED;
  if (grounds.foreign.length === 0 && unvetted.length === 0) return ALLOWED;
  if (parts.targets.length === 0 && !parts.cut) return targetlessAct(facts);
  const loose = parts.targets.filter((target) => !grounds.isGrounded(target));
  if (parts.cut || loose.length > 0) return ungrounded(facts, loose);
  const link = foreignLink(parts, grounds);
  if (!link) return ALLOWED;
  const reason = `its content holds the link ${show(link.url)}, which only ${show(link.origin.source)} wrote`;
  const fix = `name the link ${show(link.url)} in the request, or add its host to known_hosts`;
  return byGrounds('foreign_link', [reason], fix, [link.origin]);
}

/** An act without targets is grounded when the user typed what the tool is called. */
function targetlessAct({ tool, grounds, unvetted }: CallFacts): Finding {
  if (grounds.namesTool(toolNames(tool))) return ALLOWED;
  const name = nameWords(tool.name).join(' ');
  const from = sourcesOf(grounds.foreign, unvetted);
  const reason = `the user did not ask to ${show(name)}, and ${from} was read before`;
  return byGrounds(
    'act_not_named',
    [reason],
    `say "${show(name)}" in the request`,
    grounds.foreign,
  );
}

function ungrounded({ grounds, parts, unvetted }: CallFacts, loose: readonly Target[]): Finding {
  const origins: ForeignText[] = [];
  const reasons = loose.slice(0, 5).map((target) => {
    const origin = grounds.originOf(target.value);
    if (origin) origins.push(origin);
    const from = origin
      ? `comes from ${show(origin.source)}`
      : `is in no text that the user wrote, and ${sourcesOf(grounds.foreign, unvetted)} was read before`;
    return `${quote(target)} ${from}`;
  });
  if (parts.cut) reasons.push('it has more arguments than can be checked');
  const names = loose.slice(0, 3).map(({ argument, value }) => `${argument} (${show(value)})`);
  const hosts = loose.some(({ kind }) => kind === 'destination')
    ? ', or add its host to known_hosts'
    : '';
  const fix = `name ${names.join(' and ') || 'fewer arguments'} in the request${hosts}`;
  return byGrounds('not_grounded', reasons, fix, origins);
}

/** Files on this machine may hold any link; what goes to others may not. */
function foreignLink(parts: CallParts, grounds: Grounds) {
  if (parts.targets.every(({ kind, value }) => kind === 'object' && /[./\\]/.test(value))) return;
  for (const url of parts.content.flatMap(urlsIn)) {
    const origin = grounds.isNamedUrl(url) ? undefined : grounds.originOf(url);
    if (origin) return { url, origin };
  }
  return undefined;
}

function secretIn(parts: CallParts, grounds: Grounds): string | undefined {
  return [...parts.content, ...parts.targets.map(({ value }) => value)]
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
  return (
    URL_VALUE.test(value.trim()) ||
    /(?:^|[._-])(?:url|uri|link|href|host|hostname|domain|endpoint)s?$/i.test(argument)
  );
}

function sourcesOf(foreign: readonly ForeignText[], unvetted: readonly string[]): string {
  const read = foreign.map(({ source }) => source).filter((source) => !/^model:/.test(source));
  const sources = [...new Set([...read, ...unvetted])];
  const shown = sources.slice(0, 3).map(show).join(', ');
  return sources.length > 3 ? `${shown} and ${sources.length - 3} more` : shown;
}

function byGrounds(
  rule: string,
  reasons: readonly string[],
  fix: string,
  origins: readonly ForeignText[],
): Finding {
  return { ...ask(rule, [...reasons, ...notesOn(origins)], fix), byGrounds: true };
}

function ask(rule: string, reasons: readonly string[], fix: string): Finding {
  return { decision: 'ask', rule, reasons, fix };
}

function deny(rule: string, reason: string, fix: string): Finding {
  return { decision: 'deny', rule, reasons: [reason], fix };
}

function quote({ argument, value }: Target): string {
  return `${show(argument)} "${show(value)}"`;
}
