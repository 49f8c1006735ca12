// `revocations.json`: what was revoked, by epoch. Every revocation counts the epoch of the realm up and
// notes it for a principal, a delegate or a grant; a credential that was made before that is void. No
// clock is involved. A grant can also be suspended, and resumed; the later one of the two counts.

import { join } from 'node:path';
import type { Log } from '@starloom/core';
import { z } from 'zod';
import type { Delegation } from '../principal.ts';
import { failure } from '../reasons.ts';
import { changeState, LiveFile, readState, type StateFileOptions } from '../state/state-file.ts';
import { GRANT_PREFIX, MAX_PASSPORT_S, SKEW_S } from './claims.ts';

export const revokedSchema = z.strictObject({
  epoch: z.int().min(0),
  at: z.iso.datetime(),
  /** Of a suspension: the grant was resumed. */
  lifted: z.literal(true).exactOptional(),
});

const fileSchema = z.strictObject({
  version: z.literal(1),
  epoch: z.int().min(0),
  revoked: z.record(z.string(), revokedSchema),
});

export type RevocationsFile = z.output<typeof fileSchema>;
export type Revocation = z.output<typeof revokedSchema>;

const EMPTY: RevocationsFile = { version: 1, epoch: 0, revoked: {} };
/** By then everything that was made before has expired. */
const KEPT_MS = (MAX_PASSPORT_S + 2 * SKEW_S) * 1000;
const LEAST_TTL_MS = 60_000;

export type Revoked = 'principal' | 'delegate' | 'grant';

const PREFIX = { principal: 'prn', delegate: 'sub', grant: 'mnd' } as const;
const SUSPENDED = 'sus:';

type Subject = Pick<Delegation, 'principalId' | 'delegateId' | 'mandateId' | 'epoch' | 'actors'>;

export class Revocations {
  readonly #file: LiveFile<RevocationsFile>;

  private constructor(file: LiveFile<RevocationsFile>) {
    this.#file = file;
  }

  static async open(folder: string, log: Log, onChange: () => void): Promise<Revocations> {
    return new Revocations(await LiveFile.open({ ...revocationsFile(folder), log, onChange }));
  }

  get epoch(): number {
    return this.#file.value.epoch;
  }

  /** Why the credential is void; `undefined` when it is not. */
  reasonAgainst(subject: Subject): 'revoked' | 'suspended' | undefined {
    const { revoked } = this.#file.value;
    const { principalId, delegateId, mandateId, epoch, actors } = subject;
    const isVoid = (key: string) => (revoked[key]?.epoch ?? 0) > epoch;
    const acting = [delegateId, ...actors.map(({ sub }) => sub)];
    if (
      isVoid(`prn:${principalId}`) ||
      isVoid(`mnd:${mandateId}`) ||
      acting.some((sub) => isVoid(`sub:${sub}`))
    ) {
      return 'revoked';
    }
    return isSuspended(this.#file.value, mandateId) ? 'suspended' : undefined;
  }

  assertValid(subject: Subject): void {
    const reason = this.reasonAgainst(subject);
    if (reason) throw failure(reason === 'revoked' ? 'revoked/passport' : reason);
  }

  /** Counts here at once; others that read the file follow. */
  async revoke(kind: Revoked, id: string, now: number): Promise<number> {
    return (await this.change((file) => withRevoked(file, `${PREFIX[kind]}:${id}`, now))).epoch;
  }

  change(edit: (file: RevocationsFile) => RevocationsFile): Promise<RevocationsFile> {
    return this.#file.change(edit);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Everything that was made so far for this principal, delegate or grant is void from now on. */
export async function revoke(
  folder: string,
  kind: Revoked,
  id: string,
  now: number,
): Promise<number> {
  const { epoch } = await changeState(revocationsFile(folder), (file) =>
    withRevoked(file, `${PREFIX[kind]}:${id}`, now),
  );
  return epoch;
}

/** A suspended grant is refused until it is resumed. */
export async function suspendGrant(
  folder: string,
  id: string,
  isSuspended: boolean,
  now = Date.now(),
): Promise<void> {
  await changeState(revocationsFile(folder), (file) =>
    withRevoked(file, SUSPENDED + id, now, isSuspended ? {} : { lifted: true }),
  );
}

/** What was revoked so far, the newest first; keys as in the file. */
export async function listRevocations(folder: string): Promise<{
  readonly epoch: number;
  readonly revocations: readonly (Revocation & { readonly key: string })[];
}> {
  const { epoch, revoked } = await readState(revocationsFile(folder));
  const revocations = Object.entries(revoked).map(([key, one]) => ({ key, ...one }));
  return { epoch, revocations: revocations.sort((one, other) => other.epoch - one.epoch) };
}

/** The epoch that a new passport carries. */
export async function readEpoch(folder: string): Promise<number> {
  return (await readState(revocationsFile(folder))).epoch;
}

/** With what other gateways revoked; the same file when they say nothing new. */
export function withRevocations(
  file: RevocationsFile,
  others: ReadonlyMap<string, Revocation>,
  now: number,
): RevocationsFile {
  let { epoch } = file;
  const news: [string, Revocation][] = [];
  const oldestFirst = [...others].sort(([, one], [, two]) => one.epoch - two.epoch);
  for (const [key, other] of oldestFirst) {
    if (isExpired(key, other, now) || !isNews(other, file.revoked[key])) continue;
    // Our own tokens may carry this epoch already, and were made without knowing of the revocation.
    const isPassed = other.epoch <= epoch && !key.startsWith(SUSPENDED);
    const own = isPassed ? { ...other, epoch: epoch + 1 } : other;
    epoch = Math.max(epoch, own.epoch);
    news.push([key, own]);
  }
  if (news.length === 0) return file;
  return { ...file, epoch, revoked: { ...withoutExpired(file, now), ...Object.fromEntries(news) } };
}

/** What another gateway that knows only `others` should learn, each with how long it matters. */
export function newsFor(
  { revoked }: RevocationsFile,
  others: ReadonlyMap<string, Revocation>,
  now: number,
): { readonly key: string; readonly value: Revocation; readonly ttlMs: number | undefined }[] {
  return Object.entries(revoked)
    .filter(([key, one]) => !isExpired(key, one, now) && isNews(one, others.get(key)))
    .map(([key, value]) => ({ key, value, ttlMs: ttlOf(endOf(key, value), now) }));
}

/** How long a shared entry that matters until `end` is kept: long enough for every gateway to see it. */
export function ttlOf(end: number | undefined, now: number): number | undefined {
  return end === undefined ? undefined : Math.max(LEAST_TTL_MS, end - now);
}

export function revocationsFile(folder: string): StateFileOptions<RevocationsFile> {
  return { path: join(folder, 'revocations.json'), schema: fileSchema, empty: EMPTY };
}

function withRevoked(
  file: RevocationsFile,
  key: string,
  now: number,
  more: Partial<Revocation> = {},
): RevocationsFile {
  const epoch = file.epoch + 1;
  const one = { epoch, at: new Date(now).toISOString(), ...more };
  return { ...file, epoch, revoked: { ...withoutExpired(file, now), [key]: one } };
}

/** Of the same epoch a suspension counts more than its end. */
function isNews(one: Revocation, known: Revocation | undefined): boolean {
  if (!known) return true;
  return one.epoch > known.epoch || (one.epoch === known.epoch && !one.lifted && !!known.lifted);
}

function isSuspended({ revoked }: RevocationsFile, mandateId: string): boolean {
  const one = revoked[SUSPENDED + mandateId];
  return one !== undefined && !one.lifted;
}

function withoutExpired({ revoked }: RevocationsFile, now: number): RevocationsFile['revoked'] {
  return Object.fromEntries(
    Object.entries(revoked).filter(([key, one]) => !isExpired(key, one, now)),
  );
}

function isExpired(key: string, one: Revocation, now: number): boolean {
  const end = endOf(key, one);
  return end !== undefined && end <= now;
}

/** The grant of a passport ends with it; that of a key lasts, and so does its suspension. */
function endOf(key: string, { at, lifted }: Revocation): number | undefined {
  const isLasting = key.startsWith(SUSPENDED) && !key.startsWith(SUSPENDED + GRANT_PREFIX);
  return isLasting && !lifted ? undefined : Date.parse(at) + KEPT_MS;
}
