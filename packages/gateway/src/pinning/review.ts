// Decides for each capability that an agent offers whether it is served or waits for approval. A pure
// function of what was approved before; what it wants to be remembered is in the file it returns.

import {
  type Capability,
  type HeldCapability,
  isTrustedAs,
  type Manifest,
  skeletonOf,
} from '@starloom/core';
import { changesBetween, type Fingerprinted, fingerprintOf, serverDigest } from './fingerprint.ts';
import type { Offer } from './offer.ts';
import {
  type AgentPins,
  type Definition,
  type HeldPin,
  type PinsFile,
  withAgent,
} from './pins-file.ts';

export interface ReviewRules {
  /** Nothing is served that no operator approved. */
  readonly isStrict: boolean;
  /** Whether an operator added the agent; else it registered itself, or came from another realm. */
  readonly isOperators: (manifest: Manifest) => boolean;
}

export interface Review {
  readonly capabilities: readonly Capability[];
  readonly held: readonly HeldCapability[];
  /** The same object when nothing is to be remembered. */
  readonly file: PinsFile;
}

type Verdict =
  | { readonly isServed: true; readonly approvedBy?: 'first_use' | 'manifest' }
  | { readonly isServed: false; readonly held: HeldCapability };

const SERVED: Verdict = { isServed: true };

export function review(
  file: PinsFile,
  manifest: Manifest,
  offers: readonly Offer[],
  rules: ReviewRules,
  now: number,
): Review {
  const { agent_id } = manifest;
  const known = findPins(file, manifest, rules);
  const at = new Date(now).toISOString();
  const capabilities: Capability[] = [];
  const held: HeldCapability[] = [];
  const pins = new Map(known?.pins.map((pin) => [pin.definition.name, pin]));
  const waiting: HeldPin[] = [];
  let isPinned = false;
  for (const offer of offers) {
    const { name } = offer.served;
    const print = printOf(manifest, offer, rules);
    const verdict = print ? judge(print, offer, manifest, known, rules) : SERVED;
    if (!verdict.isServed) {
      held.push(verdict.held);
      if (print) waiting.push(toHeldPin(print, verdict.held, known, at));
      continue;
    }
    capabilities.push(offer.served);
    if (!print || !verdict.approvedBy) continue;
    isPinned = true;
    pins.set(name, { ...print, approved_at: at, approved_by: verdict.approvedBy });
  }
  const entry: AgentPins = {
    agent_id,
    server: serverDigest(manifest),
    pins: [...pins.values()],
    held: waiting,
  };
  const isSame = !isPinned && isSameHeld(known, entry);
  return { capabilities, held, file: isSame ? file : withAgent(file, agent_id, entry) };
}

function isSameHeld(known: AgentPins | undefined, { server, held }: AgentPins): boolean {
  if (!known || known.server !== server) return !known && held.length === 0;
  const idsOf = (all: readonly HeldPin[]) => all.map((one) => `${one.fingerprint} ${one.reason}`);
  return idsOf(known.held).join() === idsOf(held).join();
}

/** Of one capability, as it is listed when it is called. */
export function judgeOne(
  file: PinsFile,
  manifest: Manifest,
  offer: Offer,
  rules: ReviewRules,
): HeldCapability | undefined {
  const print = printOf(manifest, offer, rules);
  if (!print) return undefined;
  const verdict = judge(print, offer, manifest, findPins(file, manifest, rules), rules);
  return verdict.isServed ? undefined : verdict.held;
}

/** Of an agent that no operator added, the manifest is foreign, too: all of it is pinned. */
export function printOf(
  manifest: Manifest,
  offer: Offer,
  { isOperators }: ReviewRules,
): Fingerprinted | undefined {
  const { served } = offer;
  return fingerprintOf(manifest, isOperators(manifest) ? offer : { own: served, served });
}

/** Another server of the operator starts without pins. */
function findPins(
  { agents }: PinsFile,
  manifest: Manifest,
  { isOperators }: ReviewRules,
): AgentPins | undefined {
  const known = agents.find(({ agent_id }) => agent_id === manifest.agent_id);
  const isOther = known && known.server !== serverDigest(manifest);
  return isOther && isOperators(manifest) ? undefined : known;
}

function judge(
  { definition, fingerprint, source }: Fingerprinted,
  { named, served: { name } }: Offer,
  manifest: Manifest,
  known: AgentPins | undefined,
  rules: ReviewRules,
): Verdict {
  const isOperators = rules.isOperators(manifest);
  const pin = known?.pins.find((one) => one.definition.name === name);
  if (pin?.fingerprint === fingerprint) {
    return pin.source === source ? SERVED : { isServed: true, approvedBy: 'manifest' };
  }
  if (pin) {
    if (isOperators && pin.source !== source && !rules.isStrict) {
      return { isServed: true, approvedBy: 'manifest' };
    }
    const changes = changesBetween(pin.definition, definition);
    return { isServed: false, held: { name, reason: 'changed', changes } };
  }
  const isFirst = known === undefined || (named !== undefined && isOperators);
  const like = isFirst ? undefined : findLike(definition, known);
  if (like !== undefined) {
    return { isServed: false, held: { name, reason: 'look_alike', changes: [], like } };
  }
  const isTrusted = isTrustedAs(manifest.trust_tier, 'org');
  if (!rules.isStrict && (isTrusted || (isFirst && isOperators))) {
    return { isServed: true, approvedBy: 'first_use' };
  }
  return { isServed: false, held: { name, reason: 'new', changes: [] } };
}

/** The approved capability whose name or title this one could be taken for. */
function findLike(definition: Definition, { pins }: AgentPins): string | undefined {
  const own = new Set(skeletonsOf(definition));
  const other = pins.find((pin) => skeletonsOf(pin.definition).some((each) => own.has(each)));
  return other?.definition.name;
}

function skeletonsOf({ name, tool, title }: Definition): string[] {
  return [name, tool ?? '', title ?? ''].map(skeletonOf).filter((skeleton) => skeleton !== '');
}

/** One that waits already keeps its time. */
function toHeldPin(
  print: Fingerprinted,
  { reason, like }: HeldCapability,
  known: AgentPins | undefined,
  at: string,
): HeldPin {
  const before = known?.held.find(({ fingerprint }) => fingerprint === print.fingerprint);
  const seen_at = before?.seen_at ?? at;
  return { ...print, reason, ...(like !== undefined && { like }), seen_at };
}
