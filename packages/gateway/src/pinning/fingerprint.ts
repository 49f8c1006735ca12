// What is pinned of a capability: what the agent says of it, and which server says it. What the operator
// wrote in the manifest is not part of it: a change there is an approval.

import { isDeepStrictEqual } from 'node:util';
import {
  type Capability,
  canonicalJson,
  type Endpoint,
  type Manifest,
  protocolOf,
  sha256Hex,
} from '@starloom/core';
import type { Offer } from './offer.ts';
import type { Definition } from './pins-file.ts';

/** In the order they are shown. */
const FIELDS = ['tool', 'title', 'description', 'input_schema', 'output_schema'] as const;

export interface Fingerprinted {
  readonly definition: Definition;
  /** SHA-256 of the RFC 8785 form of the definition and the server. */
  readonly fingerprint: string;
  /** What the operator wrote about it: another one means that the operator changed the manifest. */
  readonly source: string;
}

/** Made once per answer of an agent: all of them are reviewed again when an approval changes. */
const fingerprints = new WeakMap<Offer, Fingerprinted | null>();

/** `undefined` where the agent adds nothing to what the operator wrote. */
export function fingerprintOf(manifest: Manifest, offer: Offer): Fingerprinted | undefined {
  const known = fingerprints.get(offer);
  if (known !== undefined) return known ?? undefined;
  const made = toFingerprint(manifest, offer);
  fingerprints.set(offer, made ?? null);
  return made;
}

function toFingerprint(manifest: Manifest, offer: Offer): Fingerprinted | undefined {
  const definition = definitionOf(offer);
  if (!definition) return undefined;
  const server = serverOf(manifest.endpoint);
  const named = offer.named && saidBy(offer.named);
  return {
    definition,
    fingerprint: digest({ ...definition, server }),
    source: digest({ server, named: named ?? null }),
  };
}

export function serverDigest({ endpoint }: Manifest): string {
  return digest(serverOf(endpoint));
}

/** The fields of two definitions that differ. */
export function changesBetween(before: Definition, after: Definition): string[] {
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

/** Not its headers, environment or settings: another token does not make another server. */
function serverOf(endpoint: Endpoint) {
  const { transport, uri, command, args } = endpoint;
  return { protocol: protocolOf(endpoint), transport, uri, command, args };
}

function digest(value: unknown): string {
  return sha256Hex(canonicalJson(value ?? null, { loneSurrogates: 'escape' }));
}
