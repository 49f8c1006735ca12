import type { CallContext, Envelope, EventBody } from '@starloom/core';
import type { CallNames } from '../upstream/assert-callable.ts';

/** One of the interfaces of Agent Zero. */
export interface AgentZeroLane {
  call(envelope: Envelope, context: CallContext, names: CallNames): AsyncIterable<EventBody>;
  /** Rejects unless the agent serves this interface to us; changes nothing at the agent. */
  probe(context: CallContext): Promise<void>;
  close(): Promise<void>;
}
