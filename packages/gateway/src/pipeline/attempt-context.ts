import {
  type AgentHandle,
  type CallContext,
  FabricError,
  type KeepOptions,
  type Log,
} from '@starloom/core';
import type { ActiveAttempt } from '../observe/observer.ts';
import type { Asking } from './running-call.ts';

/** What a call gives to each of its attempts. */
export interface AttemptOrigin {
  readonly notify?: CallContext['notify'] | undefined;
  readonly declared?: CallContext['declared'] | undefined;
  /** What the agent goes on with. */
  readonly resume?: Pick<CallContext, 'handle' | 'responses'> | undefined;
  /** Stores with what the call goes on if this process ends now. */
  readonly keepRunning?: KeepRunning | undefined;
}

type KeepRunning = (handle: AgentHandle, by: Asking) => Promise<void>;

/** What an adapter gets beside the envelope. A logger is made only for the attempt that writes to it. */
export class AttemptContext implements CallContext {
  readonly signal: AbortSignal;
  readonly ask: CallContext['ask'];
  mandate: string | undefined;
  openWebhook: CallContext['openWebhook'];
  confirm: CallContext['confirm'];
  /** With what the conversation goes on after the call. */
  kept: AgentHandle | undefined;
  /** Settles when what runs at the agent is stored; events wait for it. */
  stored: Promise<void> | undefined;
  readonly #active: ActiveAttempt;
  readonly #call: AttemptOrigin;
  readonly #by: Asking;

  constructor(
    signal: AbortSignal,
    active: ActiveAttempt,
    call: AttemptOrigin,
    by: Asking,
    ask: CallContext['ask'],
  ) {
    this.signal = signal;
    this.ask = ask;
    this.#active = active;
    this.#call = call;
    this.#by = by;
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

  readonly keep = (handle: AgentHandle, { isRunning = false }: KeepOptions = {}): void => {
    if (!isRunning) this.kept = handle;
    else if (this.#call.keepRunning) this.stored = this.#store(handle, this.#call.keepRunning);
  };

  get log(): Log {
    return this.#active.log;
  }

  /** A job that lost its claim is ended by its signal, so nothing is thrown here. */
  async #store(handle: AgentHandle, keepRunning: KeepRunning): Promise<void> {
    try {
      await keepRunning(handle, this.#by);
    } catch (error) {
      this.log.warn({ error: FabricError.from(error) }, 'a running task could not be stored');
    } finally {
      this.stored = undefined;
    }
  }
}
