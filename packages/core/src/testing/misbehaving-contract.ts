// What an adapter must make of an agent that answers wrongly: one canonical error in time, and the
// next call is clean.

import { expect, it } from 'vitest';
import { type ErrorCode, FabricError } from '../errors.ts';
import type { AskingSubject } from './asking-contract.ts';

/**
 * - `garbage`: bytes that are nothing in the protocol
 * - `oversize`: an answer beyond every limit of the adapter
 * - `refused`: our credentials are not accepted
 * - `hangs`: no answer at all
 */
export type Misbehaviour = 'garbage' | 'oversize' | 'refused' | 'hangs';

export interface MisbehavingSubject extends Pick<AskingSubject, 'run' | 'failure'> {
  readonly misbehave: (how: Misbehaviour | undefined) => void;
}

const CASES: Readonly<Record<Misbehaviour, { what: string; code: ErrorCode }>> = {
  garbage: { what: 'answers with garbage', code: 'UPSTREAM_ERROR' },
  oversize: { what: 'answers with more than it may', code: 'UPSTREAM_ERROR' },
  refused: { what: 'does not accept our credentials', code: 'AUTH_DENIED' },
  hangs: { what: 'does not answer', code: 'TIMEOUT' },
};

export function misbehavingContract(
  { run, failure, misbehave }: MisbehavingSubject,
  ways: readonly Misbehaviour[],
): void {
  for (const way of ways) {
    const { what, code } = CASES[way];
    it(`fails with ${code} when the agent ${what}, and serves the next call`, async () => {
      expect((await run('echo before')).result?.answer).toBe('before');
      misbehave(way);
      const signal = way === 'hangs' ? timeoutSoon() : undefined;
      const error = await failure('echo wrong', signal);
      expect(error.code).toBe(code);
      expect(error.isAgentAnswer).toBe(false);
      if (way === 'refused') expect(error.details.upstream).toBeDefined();
      misbehave(undefined);
      expect((await run('echo after')).result?.answer).toBe('after');
    });
  }
}

function timeoutSoon(): AbortSignal {
  const control = new AbortController();
  setTimeout(() => control.abort(new FabricError('TIMEOUT', 'Too slow')), 200).unref();
  return control.signal;
}
