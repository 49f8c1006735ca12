import { FabricError } from '@starloom/core';

/** UPSTREAM_ERROR when an agent wrote more for one call than its manifest allows. */
export function assertOutputFits(bytes: number, limit: number): void {
  if (bytes <= limit) return;
  throw new FabricError('UPSTREAM_ERROR', 'The agent wrote too much', {
    details: {
      reason: 'output_too_large',
      limit,
      fix: 'answer with less, or raise max_output_bytes',
    },
  });
}
