import type { Transport } from '@modelcontextprotocol/client';
import type { FabricError } from '@starloom/core';

/** A transport that knows why it closed. */
export interface ServerTransport extends Transport {
  /** `undefined` while it has not closed by itself. */
  readonly failure: FabricError | undefined;
}
