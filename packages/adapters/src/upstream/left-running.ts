import { CLAIM_LOST, type FabricError } from '@starloom/core';

/** The call goes on elsewhere: another worker joins what runs at the agent. */
export function isLeftRunning({ details }: FabricError): boolean {
  return details.reason === CLAIM_LOST;
}
