import type {
  AgentDescription,
  CallContext,
  Capability,
  Envelope,
  EventBody,
} from '@starloom/core';
import type { CallNames } from '../upstream/call.ts';

/** One call, as a profile gets it. */
export interface ProfileCall {
  readonly envelope: Envelope;
  readonly context: CallContext;
  /** As the manifest or the agent describes it. */
  readonly capability: Capability;
  readonly names: CallNames;
}

/** How agents of one kind are spoken to over HTTP. */
export interface Profile {
  call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined>;
  /** Where a health check asks. */
  readonly healthPath: string;
  /** What the agent offers where its manifest names no capabilities. */
  describe(context: CallContext): Promise<AgentDescription>;
  /** The capability of that name where the manifest names none. */
  find?(name: string, context: CallContext): Promise<Capability | undefined>;
  close?(): Promise<void>;
}
