// What can go wrong with a task, besides what the agent itself answers.

import { FabricError, TOOL_ERROR } from '@starloom/core';

/** The agent lets no one join this task, because it is over or for another reason. */
export function isAnsweredWithError({ code, details }: FabricError): boolean {
  if (code === 'CAPABILITY_NOT_FOUND' || code === 'BAD_INPUT') return true;
  const reasons: readonly unknown[] = ['rpc_error', TOOL_ERROR];
  return code === 'UPSTREAM_ERROR' && reasons.includes(details.reason);
}

/** Not the connection, nor the agent's own word: its streams cannot be read. */
export function isBrokenStream({ code, details }: FabricError): boolean {
  const reasons: readonly unknown[] = [
    'bad_answer',
    'invalid_json',
    'unsupported',
    'method_not_found',
  ];
  return (
    (code === 'UPSTREAM_ERROR' || code === 'CAPABILITY_NOT_FOUND') &&
    reasons.includes(details.reason)
  );
}

export function lostTask(failure: FabricError): FabricError {
  if (failure.details.reason !== 'unknown_task') return failure;
  return new FabricError('UPSTREAM_ERROR', 'The agent lost the task', {
    details: { reason: 'task_lost', upstream: failure.details.upstream },
    cause: failure,
  });
}

/** The other end of a connection may be gone without a word. */
export function fellSilent(): FabricError {
  return new FabricError('AGENT_OFFLINE', 'The agent fell silent', {
    details: { reason: 'connection_lost', fix: 'see the log of the agent' },
  });
}

export function noFinal(): FabricError {
  return new FabricError('UPSTREAM_ERROR', 'The agent ended its stream without an answer', {
    details: { reason: 'no_final', fix: 'see the log of the agent' },
  });
}

export function givenUp(): FabricError {
  return new FabricError('CANCELLED', 'The question of the agent was cancelled', {
    details: { reason: 'question_cancelled' },
  });
}
