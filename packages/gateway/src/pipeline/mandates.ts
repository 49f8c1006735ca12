// The mandate of one attempt: for agents whose manifest asks for one, however the caller authenticated.
// All calls below a root call share its budget.

import type { Auth, GuardedCall, Manifest } from '@starloom/core';
import {
  type Budget,
  type DelegateRequest,
  delegateRequestSchema,
  isMandated,
  type Mint,
  onBehalfOf,
  type Principal,
  type TraceBudgets,
} from '@starloom/identity';
import { failure } from '../reasons.ts';
import type { Caller } from './call-request.ts';
import type { PreparedCall } from './prepare.ts';

interface MandatesOptions {
  /** Where there is none, agents that ask for a mandate cannot be called. */
  readonly mint: Mint | undefined;
  readonly budgets: TraceBudgets;
  /** The deepest chain. */
  readonly maxDepth: number;
  /** How long after it is stored a job of an agent with a mandate may begin. */
  readonly jobsMs: number;
}

/** What an attempt carries, and what its envelope says of it. */
export interface CarriedMandate {
  readonly token: string;
  readonly auth: Partial<Auth>;
  release(): void;
}

export const META_DELEGATE = 'io.starloom/delegate';

export class Mandates {
  readonly #options: MandatesOptions;

  constructor(options: MandatesOptions) {
    this.#options = options;
  }

  /** Counts a call below a root call; POLICY_DENIED when the budget of its trace is spent. */
  spend(guarded: GuardedCall, principal: Principal): Promise<void> | undefined {
    const { budgets } = this.#options;
    const { delegation } = principal;
    const owner = guarded.root ?? onBehalfOf(principal);
    const { trace_id } = guarded.trace;
    if (delegation) return budgets.spendTogether(owner, trace_id, delegation.budget);
    budgets.spend(owner, trace_id);
    return undefined;
  }

  /** Until when a job may begin that is stored now; `undefined` where the caller has no mandate. */
  beginBy(principal: Principal, now: number, runAt = now): number | undefined {
    if (!isMandated(principal)) return undefined;
    const { rootExpiresAt = Number.POSITIVE_INFINITY } = principal.delegation ?? {};
    const beginBy = Math.min(now + this.#options.jobsMs, rootExpiresAt);
    if (runAt <= beginBy) return beginBy;
    throw failure('outlives_mandate', { begin_by: new Date(beginBy).toISOString() });
  }

  /** For an agent whose manifest asks for one. */
  async forAttempt(
    { caller: { principal }, guarded, delegate }: PreparedCall,
    target: Manifest,
    capability: string,
  ): Promise<CarriedMandate> {
    const { mint, budgets, maxDepth } = this.#options;
    if (!mint) throw failure('no_mint', { agent_id: target.agent_id });
    const traceId = guarded.trace.trace_id;
    const granted = smaller(principal.delegation?.budget, delegate);
    const budget = budgets.left(guarded.root ?? onBehalfOf(principal), traceId, granted);
    const minted = await mint.mint({
      principal,
      originTier: guarded.originTier,
      target,
      capability,
      traceId,
      maxDepth,
      budget,
      requested: delegate,
    });
    const { sub, prn, mnd, cog, cap, scp, pid } = minted.claims;
    return {
      token: minted.token,
      auth: {
        principal_id: prn,
        delegate_id: sub,
        mandate_id: mnd,
        cog_id: cog,
        agent_passport_id: pid ?? null,
        cap,
        scp,
      },
      release: minted.release,
    };
  }
}

/** What the caller asks the mint for; BAD_INPUT when it cannot be read. */
export function readDelegate({ meta }: Pick<Caller, 'meta'>): DelegateRequest | undefined {
  const given = meta[META_DELEGATE];
  if (given === undefined) return undefined;
  const parsed = delegateRequestSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const fix = `write _meta["${META_DELEGATE}"] as {cap?, scp?, ttl_s? (60 to 300), calls?, ms?}`;
  throw failure('delegate', { fix });
}

/** A passport may allow less than the caller asks for, and the other way round. */
function smaller(granted: Partial<Budget> = {}, asked: DelegateRequest = {}): Budget {
  const least = (name: keyof Budget) =>
    Math.min(granted[name] ?? Number.POSITIVE_INFINITY, asked[name] ?? Number.POSITIVE_INFINITY);
  return { calls: least('calls'), ms: least('ms') };
}
