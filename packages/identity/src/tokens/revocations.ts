// `revocations.json`: what was revoked, by epoch. Every revocation counts the epoch of the realm up and
// notes it for a principal, a delegate or a grant; a credential that was made before that is void. No
// clock is involved. A grant can also be suspended, and resumed.

import { join } from 'node:path';
import type { Log } from '@starloom/core';
import { z } from 'zod';
import { type DenialReason, denied } from '../denied.ts';
import type { Delegation } from '../principal.ts';
import { changeState, LiveFile, readState, type StateFileOptions } from '../state/state-file.ts';
import { MAX_PASSPORT_S, SKEW_S } from './claims.ts';

const fileSchema = z.strictObject({
  version: z.literal(1),
  epoch: z.int().min(0),
  revoked: z.record(z.string(), z.strictObject({ epoch: z.int(), at: z.iso.datetime() })),
  suspended: z.array(z.string()),
});

type RevocationsFile = z.output<typeof fileSchema>;

const EMPTY: RevocationsFile = { version: 1, epoch: 0, revoked: {}, suspended: [] };
/** By then everything that was made before has expired. */
const KEPT_MS = (MAX_PASSPORT_S + 2 * SKEW_S) * 1000;

export type Revoked = 'principal' | 'delegate' | 'grant';

const PREFIX = { principal: 'prn', delegate: 'sub', grant: 'mnd' } as const;

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
    const { revoked, suspended } = this.#file.value;
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
    return suspended.includes(mandateId) ? 'suspended' : undefined;
  }

  assertValid(subject: Subject): void {
    const reason: DenialReason | undefined = this.reasonAgainst(subject);
    if (!reason) return;
    const fix = 'ask the operator of the gateway for another passport';
    throw denied(reason, `The credential is ${reason}`, fix);
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
  const { epoch } = await changeState(revocationsFile(folder), (file) => {
    const next = file.epoch + 1;
    const at = new Date(now).toISOString();
    const kept = Object.entries(file.revoked).filter(
      ([, one]) => now - Date.parse(one.at) < KEPT_MS,
    );
    const revoked = { ...Object.fromEntries(kept), [`${PREFIX[kind]}:${id}`]: { epoch: next, at } };
    return { ...file, epoch: next, revoked };
  });
  return epoch;
}

/** A suspended grant is refused until it is resumed. */
export async function suspendGrant(
  folder: string,
  id: string,
  isSuspended: boolean,
): Promise<void> {
  await changeState(revocationsFile(folder), (file) => {
    const others = file.suspended.filter((known) => known !== id);
    return { ...file, suspended: isSuspended ? [...others, id] : others };
  });
}

/** The epoch that a new passport carries. */
export async function readEpoch(folder: string): Promise<number> {
  return (await readState(revocationsFile(folder))).epoch;
}

function revocationsFile(folder: string): StateFileOptions<RevocationsFile> {
  return { path: join(folder, 'revocations.json'), schema: fileSchema, empty: EMPTY };
}
