import { FabricError } from '@starloom/core';

/** Why what waits, or is not done in time, is not answered otherwise. */
export function shuttingDown(): FabricError {
  return new FabricError('CANCELLED', 'The gateway is shutting down', {
    details: {
      reason: 'shutting_down',
      fix:
        'ask again in a moment, or another gateway; a write may have been done nevertheless: ' +
        'repeat it with its idempotency_key',
    },
  });
}
