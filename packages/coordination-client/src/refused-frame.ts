// Why a connection is closed tells what must not be sent again. A frame over the server's limit
// (1009) was the largest of those in flight, or at least as large as the one it was; the other codes
// do not tell which frame it was, nor does an answer over the client's limit tell whose it was.

import { FabricError } from '@starloom/core';
import type { OpenRequest } from './open-requests.ts';
import type { CloseCause } from './transport.ts';

const TOO_LARGE = 1009;
/** Not this kind of data, not UTF-8, against its rules. */
const NOT_ACCEPTED: readonly (CloseCause | undefined)[] = [1003, 1007, 1008];

/** Of what was sent on a connection and not answered: what a close for this cause refuses, and how. */
export function refusedBy(
  cause: CloseCause | undefined,
  inFlight: readonly OpenRequest[],
): readonly { readonly id: number; readonly error: FabricError }[] {
  if (cause === 'answer_too_large') {
    return inFlight.map(({ id, method }) => ({ id, error: answerTooLarge(method) }));
  }
  if (cause === TOO_LARGE) {
    const [largest] = inFlight.toSorted((a, b) => bytesOf(b) - bytesOf(a));
    return largest ? [{ id: largest.id, error: tooLarge(largest) }] : [];
  }
  if (!NOT_ACCEPTED.includes(cause)) return [];
  return inFlight.map(({ id, method }) => ({ id, error: notAccepted(method, cause) }));
}

function bytesOf({ text }: OpenRequest): number {
  return Buffer.byteLength(text);
}

function tooLarge(request: OpenRequest): FabricError {
  const { method } = request;
  return new FabricError('BAD_INPUT', `The request ${method} is too large for the gateway`, {
    details: {
      reason: 'too_large',
      method,
      bytes: bytesOf(request),
      close_code: TOO_LARGE,
      fix: 'send less at once, or raise limits.body_bytes of the gateway (4 MiB by default)',
    },
  });
}

function answerTooLarge(method: string): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'An answer is too large for the client', {
    details: {
      reason: 'answer_too_large',
      method,
      may_be_done: true,
      fix: 'ask for less at once, or raise maxMessageBytes (32 MiB by default); others that were under way ask again',
    },
  });
}

function notAccepted(method: string, code: CloseCause | undefined): FabricError {
  return new FabricError('UPSTREAM_ERROR', `The gateway does not accept what was sent (${code})`, {
    details: {
      reason: 'not_accepted',
      method,
      close_code: code,
      may_be_done: true,
      fix: 'look whether it was done; see what stands between here and the gateway',
    },
  });
}
