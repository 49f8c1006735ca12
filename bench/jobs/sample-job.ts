import { createTrace, type NewJob } from '@starloom/core';

/** A call of the usual size: a task of some lines. */
export function sampleJob(): NewJob {
  return {
    principalId: 'bench',
    capability: 'research',
    agentId: 'agent',
    trace: createTrace(),
    call: { task: 'Compare the three proposals and name the cheapest. '.repeat(6) },
    timeoutMs: 3_600_000,
  };
}
