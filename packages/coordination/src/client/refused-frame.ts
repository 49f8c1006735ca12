// Why a server closes a connection tells what must not be sent again. A frame over its limit (1009)
// was the largest of those in flight, or at least as large as the one it was; the other codes do not
// tell which frame it was.

import { FabricError } from '@starloom/core';
import type { OpenRequest } from './open-requests.ts';

const TOO_LARGE = 1009;
/** Not this kind of data, not UTF-8, against its rules. */
const NOT_ACCEPTED: readonly (number | undefined)[] = [1003, 1007, 1008];

/** Of what was sent on a connection and not answered: what a close with this code refuses, and how. */
export function refusedBy(
  code: number | undefined,
  inFlight: readonly OpenRequest[],
): readonly { readonly id: number; readonly error: FabricError }[] {
  if (code === TOO_LARGE) {
    const [largest] = inFlight.toSorted((a, b) => bytesOf(b) - bytesOf(a));
    return largest ? [{ id: largest.id, error: tooLarge(largest) }] : [];
  }
  if (!NOT_ACCEPTED.includes(code)) return [];
  return inFlight.map(({ id, method }) => ({ id, error: notAccepted(method, code) }));
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

function notAccepted(method: string, code: number | undefined): FabricError {
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
