import {
  type AgentHandle,
  type CallContext,
  type Capability,
  FabricError,
  type InboundWebhook,
  type KeepOptions,
  type Log,
  type Manifest,
} from '@starloom/core';
import type { InboundWebhooks } from '../inbound-webhooks.ts';
import type { ActiveAttempt } from '../observe/observer.ts';
import { metaFor } from './passed-meta.ts';
import type { Asking } from './running-call.ts';

/** What a call gives to each of its attempts. */
export interface AttemptOrigin {
  readonly notify?: CallContext['notify'] | undefined;
  /** What the request of the caller carried beside its arguments. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly declared?: CallContext['declared'] | undefined;
  /** What the agent goes on with. */
  readonly resume?: Pick<CallContext, 'handle' | 'responses'> | undefined;
  /** Stores with what the call goes on if this process ends now. */
  readonly keepRunning?: KeepRunning | undefined;
}

/** Throws MANIFEST_CHANGED when what the agent lists of a capability was not approved. */
export type Confirm = (manifest: Manifest, capability: Capability, offered: Capability) => void;

/** Whom an attempt is made at. */
export interface AttemptTarget {
  readonly manifest: Manifest;
  readonly capability: Capability;
  readonly by: Asking;
  readonly webhooks: Pick<InboundWebhooks, 'open'>;
  readonly confirm: Confirm | undefined;
}

type KeepRunning = (handle: AgentHandle, by: Asking) => Promise<void>;

/**
 * What an adapter gets beside the envelope. A logger is made only for the attempt that writes to it. What
 * is not always asked for is a method or a getter: functions made for every attempt kept whole calls
 * alive over several garbage collections, whose pauses were ten times as long.
 */
export class AttemptContext implements CallContext {
  readonly signal: AbortSignal;
  readonly ask: CallContext['ask'];
  mandate: string | undefined;
  /** With what the conversation goes on after the call. */
  kept: AgentHandle | undefined;
  /** Settles when what runs at the agent is stored; events wait for it. */
  stored: Promise<void> | undefined;
  readonly #active: ActiveAttempt;
  readonly #call: AttemptOrigin;
  readonly #target: AttemptTarget;

  constructor(
    signal: AbortSignal,
    active: ActiveAttempt,
    call: AttemptOrigin,
    target: AttemptTarget,
    ask: CallContext['ask'],
  ) {
    this.signal = signal;
    this.ask = ask;
    this.#active = active;
    this.#call = call;
    this.#target = target;
  }

  get notify(): CallContext['notify'] {
    return this.#call.notify;
  }

  get meta(): CallContext['meta'] {
    const { meta } = this.#call;
    return meta && metaFor(this.#target.manifest, meta);
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

  openWebhook(onNotice: () => void): InboundWebhook | undefined {
    return this.#target.webhooks.open(this.#target.manifest, onNotice);
  }

  get confirm(): CallContext['confirm'] {
    const { confirm, manifest, capability } = this.#target;
    return confirm && ((offered) => confirm(manifest, capability, offered));
  }

  get log(): Log {
    return this.#active.log;
  }

  /** A job that lost its claim is ended by its signal, so nothing is thrown here. */
  async #store(handle: AgentHandle, keepRunning: KeepRunning): Promise<void> {
    try {
      await keepRunning(handle, this.#target.by);
    } catch (error) {
      this.log.warn({ error: FabricError.from(error) }, 'a running task could not be stored');
    } finally {
      this.stored = undefined;
    }
  }
}
