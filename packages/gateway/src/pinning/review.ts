// Decides for each capability that an agent offers whether it is served or waits for approval. A pure
// function of what was approved before; what it wants to be remembered is in the file it returns.

import { isDeepStrictEqual } from 'node:util';
import {
  type Capability,
  canonicalJson,
  type Endpoint,
  type FabricError,
  type HeldCapability,
  isTrustedAs,
  type Manifest,
  protocolOf,
  sha256Hex,
  skeletonOf,
} from '@starloom/core';
import type { AuditEntry } from '@starloom/identity';
import { failure } from '../reasons.ts';
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
  /** The principal that registered the agent; undefined when an operator added it. */
  readonly ownerOf: (manifest: Manifest) => string | undefined;
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
    server: serverDigest(manifest, rules.ownerOf(manifest)),
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
  { ownerOf }: ReviewRules,
): Fingerprinted | undefined {
  const { served } = offer;
  const owner = ownerOf(manifest);
  if (owner === undefined) return fingerprintOf(manifest, offer);
  return fingerprintOf(manifest, { own: served, served }, owner);
}

/** Another server of the operator starts without pins. */
function findPins(
  { agents }: PinsFile,
  manifest: Manifest,
  { ownerOf }: ReviewRules,
): AgentPins | undefined {
  const known = agents.find(({ agent_id }) => agent_id === manifest.agent_id);
  if (ownerOf(manifest) !== undefined) return known;
  return known?.server === serverDigest(manifest) ? known : undefined;
}

function judge(
  { definition, fingerprint, source }: Fingerprinted,
  { named, served: { name } }: Offer,
  manifest: Manifest,
  known: AgentPins | undefined,
  rules: ReviewRules,
): Verdict {
  const isOperators = rules.ownerOf(manifest) === undefined;
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

// What is pinned of a capability: what the agent says of it, and which server says it. What the operator
// wrote in the manifest is not part of it: a change there is an approval.

/** In the order they are shown. */
const FIELDS = ['tool', 'title', 'description', 'input_schema', 'output_schema'] as const;

interface Fingerprinted {
  readonly definition: Definition;
  /** SHA-256 of the RFC 8785 form of the definition and the server. */
  readonly fingerprint: string;
  /** What the operator wrote about it: another one means that the operator changed the manifest. */
  readonly source: string;
}

/** Made once per answer of an agent: all of them are reviewed again when an approval changes. */
const fingerprints = new WeakMap<Offer, Fingerprinted | null>();

/** `undefined` where the agent adds nothing to what the operator wrote. */
export function fingerprintOf(
  manifest: Manifest,
  offer: Offer,
  owner?: string,
): Fingerprinted | undefined {
  const known = fingerprints.get(offer);
  if (known !== undefined) return known ?? undefined;
  const made = toFingerprint(manifest, offer, owner);
  fingerprints.set(offer, made ?? null);
  return made;
}

function toFingerprint(
  manifest: Manifest,
  offer: Offer,
  owner: string | undefined,
): Fingerprinted | undefined {
  const definition = definitionOf(offer);
  if (!definition) return undefined;
  const server = serverOf(manifest.endpoint, owner);
  const named = offer.named && saidBy(offer.named);
  return {
    definition,
    fingerprint: digest({ ...definition, server }),
    source: digest({ server, named: named ?? null }),
  };
}

/** By endpoint, then by owner: every review of an agent needs it. */
const serverDigests = new WeakMap<Manifest['endpoint'], Map<string | undefined, string>>();

function serverDigest({ endpoint }: Manifest, owner?: string): string {
  const byOwner = serverDigests.get(endpoint) ?? new Map<string | undefined, string>();
  const known = byOwner.get(owner) ?? digest(serverOf(endpoint, owner));
  serverDigests.set(endpoint, byOwner.set(owner, known));
  return known;
}

/** The fields of two definitions that differ. */
function changesBetween(before: Definition, after: Definition): string[] {
  const fields = [...FIELDS, 'annotations'] as const;
  const changes = fields.filter((field) => !isDeepStrictEqual(before[field], after[field]));
  return changes.length > 0 ? changes : ['server'];
}

function definitionOf({ served, named, own }: Offer): Definition | undefined {
  if (!own) return undefined;
  const said = saidBy(own);
  if (!named) return { ...said, name: served.name };
  const operators = saidBy(named);
  const added = Object.entries(said).filter(
    ([field]) => field !== 'name' && field !== 'annotations' && !(field in operators),
  );
  const hints = Object.entries(said.annotations ?? {}).filter(
    ([hint]) => !(hint in (operators.annotations ?? {})),
  );
  if (added.length === 0 && hints.length === 0) return undefined;
  return {
    ...Object.fromEntries(added),
    name: served.name,
    ...(hints.length > 0 && { annotations: Object.fromEntries(hints) }),
  };
}

function saidBy(capability: Capability): Definition {
  const { name, annotations } = capability;
  const given = FIELDS.filter((field) => capability[field] !== undefined);
  return {
    name,
    ...Object.fromEntries(given.map((field) => [field, capability[field]])),
    ...(annotations && { annotations }),
  };
}

/**
 * Not its headers, environment or settings: another token does not make another server. An agent that
 * registered itself is known by its key, and may move.
 */
function serverOf(endpoint: Endpoint, owner: string | undefined) {
  if (owner !== undefined) return { protocol: protocolOf(endpoint), owner };
  const { transport, uri, command, args } = endpoint;
  return { protocol: protocolOf(endpoint), transport, uri, command, args };
}

function digest(value: unknown): string {
  return sha256Hex(canonicalJson(value ?? null, { loneSurrogates: 'escape' }));
}

/** A call of a capability that waits for approval. */
export function manifestChanged(agent_id: string, held: HeldCapability): FabricError {
  const { name: capability, reason, changes, like } = held;
  return failure(reason, { agent_id, capability, changes, like });
}

/** What was pinned and held between two states of an agent, for the audit log. */
export function toAuditEntries(
  agent_id: string,
  before?: AgentPins,
  after?: AgentPins,
): AuditEntry[] {
  const known = new Set([...(before?.pins ?? []), ...(before?.held ?? [])].map(idOf));
  const fresh = [
    ...(after?.pins ?? []).map((pin) => ({ pin, decision: 'approved', by: pin.approved_by })),
    ...(after?.held ?? []).map((pin) => ({ pin, decision: 'held', by: pin.reason })),
  ].filter(({ pin }) => !known.has(idOf(pin)));
  return Object.values(Object.groupBy(fresh, ({ decision, by }) => `${decision} ${by}`)).flatMap(
    (group = []) => {
      const [first] = group;
      if (!first) return [];
      const capabilities = group.map(({ pin: { definition, fingerprint } }) => ({
        name: definition.name,
        fingerprint,
      }));
      const decision = first.decision as 'approved' | 'held';
      return [{ type: 'pin', decision, agent_id, capabilities, by: first.by }];
    },
  );
}

function idOf(pin: AgentPins['pins'][number] | AgentPins['held'][number]): string {
  return `${pin.definition.name} ${pin.fingerprint} ${'reason' in pin ? 'held' : 'approved'}`;
}
