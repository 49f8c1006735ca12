import type { Coordination } from '@starloom/coordination';
import { FabricError } from '@starloom/core';
import type { Caller } from './call-request.ts';

/** A call may belong to a session only when its caller has an agent there. */
export async function assertMember(
  coordination: Coordination | undefined,
  { principal }: Caller,
  sessionId: string,
): Promise<void> {
  const contexts = coordination?.services.principalContexts;
  if ((await contexts?.read(principal, sessionId)) !== undefined) return;
  throw new FabricError('BAD_INPUT', `There is no session "${sessionId}" for this caller`, {
    details: {
      reason: 'unknown_session',
      session_id: sessionId,
      fix: 'join the session first, or call without session_id',
    },
  });
}
