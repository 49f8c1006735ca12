import type { AgentHandle, CallContext, Log } from '@starloom/core';
import type { ActiveAttempt } from '../observe/observer.ts';

/** What a call gives to each of its attempts. */
export interface AttemptOrigin {
  readonly notify?: CallContext['notify'] | undefined;
  readonly declared?: CallContext['declared'] | undefined;
  /** What the agent goes on with. */
  readonly resume?: Pick<CallContext, 'handle' | 'responses'> | undefined;
}

/** What an adapter gets beside the envelope. A logger is made only for the attempt that writes to it. */
export class AttemptContext implements CallContext {
  readonly signal: AbortSignal;
  readonly ask: CallContext['ask'];
  mandate: string | undefined;
  kept: AgentHandle | undefined;
  readonly #active: ActiveAttempt;
  readonly #call: AttemptOrigin;

  constructor(
    signal: AbortSignal,
    active: ActiveAttempt,
    call: AttemptOrigin,
    ask: CallContext['ask'],
  ) {
    this.signal = signal;
    this.ask = ask;
    this.#active = active;
    this.#call = call;
  }

  get notify(): CallContext['notify'] {
    return this.#call.notify;
  }

  get declared(): CallContext['declared'] {
    return this.#call.declared;
  }

  get handle(): CallContext['handle'] {
    return this.#call.resume?.handle;
  }

  get responses(): CallContext['responses'] {
    return this.#call.resume?.responses;
  }

  readonly keep = (handle: AgentHandle): void => {
    this.kept = handle;
  };

  get log(): Log {
    return this.#active.log;
  }
}
