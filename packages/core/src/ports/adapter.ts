import type { Envelope } from '../envelope.ts';
import type { EventBody } from '../events.ts';
import type { Health } from '../health.ts';
import type { Log } from '../log.ts';
import type { Capability, Manifest } from '../manifest.ts';
import type { InputRequest, InputResponse } from '../questions.ts';

export interface CallContext {
  /** Aborted when the caller left or time is up; its reason is a FabricError. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /**
   * Takes notifications of the agent's own protocol that are no events (log messages of MCP, say),
   * for callers that speak it too.
   */
  readonly notify?: ((notification: ProtocolNotification) => Promise<void>) | undefined;
  /**
   * Asks the caller. Responses come in the order of the requests, one each. An open question stops
   * the time limits of the attempt, and expires by itself, answered `cancel`. Rejects with the
   * reason of the signal, or with INPUT_REQUIRED (see `AskOptions`), which the adapter passes on.
   * Absent where no caller can be asked: then the agent is answered `cancel`.
   */
  readonly ask?:
    | ((requests: readonly InputRequest[], options?: AskOptions) => Promise<InputResponse[]>)
    | undefined;
  /** What the adapter kept at the end of an earlier call of this conversation. */
  readonly handle?: AgentHandle | undefined;
  /** Answers to what the agent asked when the earlier call ended with INPUT_REQUIRED. */
  readonly responses?: readonly InputResponse[] | undefined;
  /** The conversation can go on after this call, with this handle. The last one counts. */
  readonly keep?: ((handle: AgentHandle, options?: KeepOptions) => void) | undefined;
  /** Keys of `_meta` that an MCP client added for the agent; none of them is ours or the protocol's. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** What a caller of the agent's own protocol declared of itself, as that protocol says it. */
  readonly declared?: Readonly<Record<string, unknown>> | undefined;
  /**
   * For an agent whose manifest asks for one: minted for this attempt alone. It travels with the call
   * as `toMandateHeaders`, `toMandateMeta` or `toMandateLine` write it, and is never logged.
   */
  readonly mandate?: string | undefined;
  /**
   * Opens a URL at which the agent can notify us of a change while this attempt runs; `onNotice` is then
   * called, and must not throw. A notice says no more than "look again": its body is never read.
   * `undefined`, or absent, where the agent cannot reach the gateway: the adapter polls.
   */
  readonly openWebhook?: ((onNotice: () => void) => InboundWebhook | undefined) | undefined;
  /**
   * Takes what the agent lists of the capability now, where the adapter knows that before it sends
   * the call. Throws MANIFEST_CHANGED (`sent: false`) when an operator did not approve that; through
   * a node it is the promise that does.
   */
  readonly confirm?: ((offered: Capability) => Promise<void> | void) | undefined;
}

/** Takes notices of one agent until it is disposed. */
export interface InboundWebhook extends Disposable {
  readonly url: string;
  /** The agent sends it with each notice, in `X-A2A-Notification-Token` or as a bearer token. */
  readonly token: string;
}

/** What an adapter needs to go on with an agent later; JSON, at most 128 KiB. */
export type AgentHandle = Readonly<Record<string, unknown>>;

export interface AskOptions {
  /**
   * With it the agent can wait without us: when no caller can answer now, `ask` throws INPUT_REQUIRED,
   * the attempt ends with it, and a later call brings `handle` and the responses. Without it the
   * attempt stays in this process until it is answered.
   */
  readonly handle?: AgentHandle;
  /** Takes a question without `handle` back: it is answered `cancel`, as if it had expired. */
  readonly signal?: AbortSignal;
}

export interface KeepOptions {
  /**
   * The handle names what runs at the agent now: a call that brings it without `responses` joins
   * that and sends nothing. A job that is interrupted goes on so.
   */
  readonly isRunning?: boolean;
}

export interface ProtocolNotification {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** How an agent describes itself; fields that it leaves out are absent. */
export interface AgentDescription {
  readonly version?: string;
  readonly description?: string;
  /** How the agent is to be used, for models. */
  readonly instructions?: string;
  readonly capabilities: readonly Capability[];
}

/** Speaks one protocol to one agent. Opened once per manifest, shared by all its calls. */
export interface Adapter {
  /**
   * Runs one call. Events come as they happen, in order; nothing is pulled from the agent while the
   * consumer does not pull (back-pressure). Ends after exactly one `final`, or throws a FabricError:
   * AGENT_OFFLINE when the agent could not be reached or went away, TIMEOUT and CANCELLED from the
   * signal's reason, UPSTREAM_ERROR for what the agent did wrong, CAPABILITY_NOT_FOUND,
   * AUTH_DENIED, BAD_INPUT when the agent said so. `details.sent` is false in every error that was
   * thrown before anything reached the agent; only then may a call with side effects go elsewhere.
   *
   * When the signal aborts, or the consumer stops early, the adapter asks the agent to stop and
   * frees the call's resources. Trace, depth and chain of the envelope travel with the call.
   */
  call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody>;
  /** Answers in good time whatever the agent does; does not throw for an agent that is down. */
  health(context: CallContext): Promise<Health>;
  /** Asks the agent what it can do. Throws as `call` does. */
  describe(context: CallContext): Promise<AgentDescription>;
  /**
   * Tells the agent to end what a handle names, for a call that no process serves any more. Absent
   * where nothing runs at the agent without a call. Throws as `call` does.
   */
  stop?(handle: AgentHandle, context: CallContext): Promise<void>;
  /** Frees connections and child processes; calls still open end with AGENT_OFFLINE. */
  close(): Promise<void>;
}

export interface AdapterOptions {
  readonly manifest: Manifest;
  readonly log: Log;
  /** Where relative paths of the manifest begin; default: the working folder. */
  readonly baseFolder?: string | undefined;
  /** Where an adapter keeps what outlives the process, such as logins; absent: nothing is kept. */
  readonly stateFolder?: string | undefined;
}

/** How an adapter is made; `@starloom/adapters` keeps the table, packages may bring their own. */
export type AdapterFactory = (options: AdapterOptions) => Adapter | Promise<Adapter>;
