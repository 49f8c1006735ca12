// The shared context of each session as a resource, for the principal whose agents are in it. An
// unknown session and a forbidden one are both not found.

import type { ConnectedPrincipal, ContextWatcher, PrincipalContexts } from '@starloom/coordination';
import { failure } from '../reasons.ts';

type Params = Record<string, unknown>;

export interface Following {
  stop(): void;
}

/** One of the other two lists of the same kind has nothing of ours. */
type OwnListing = 'resources' | 'resourceTemplates';

const SESSION_TEMPLATE = 'starloom://sessions/{session_id}/context';

const MIME_TYPE = 'application/json';
/** More are reached by the template. */
const LISTED = 1_000;
const COMPLETED = 100;

export class SessionResources {
  readonly #contexts: PrincipalContexts;

  constructor(contexts: PrincipalContexts) {
    this.#contexts = contexts;
  }

  /** Whether it is one of these, no matter which caller may read it. */
  owns(uri: unknown): uri is string {
    return parseSessionUri(uri) !== undefined;
  }

  /** A principal may subscribe to a session before it is in it. */
  isAwaited(uri: string): boolean {
    return this.owns(uri);
  }

  async list(key: OwnListing, principal: ConnectedPrincipal): Promise<Params[]> {
    if (!this.#contexts.mayUse(principal)) return [];
    if (key === 'resourceTemplates') return [TEMPLATE];
    const sessions = await this.#contexts.list(principal, LISTED);
    return sessions.map(({ session_id, metadata }) => ({
      uri: toSessionUri(session_id),
      name: `context of session ${session_id}`,
      ...(typeof metadata.title === 'string' && { title: metadata.title }),
      description: 'What the agents of the session share, as JSON with its version',
      mimeType: MIME_TYPE,
    }));
  }

  /** The answer to a request about one of these; `undefined` when it is about something else. */
  answer(
    method: string,
    params: Params,
    principal: ConnectedPrincipal,
  ): Promise<Params> | undefined {
    const { uri, ref, argument } = params;
    if (method === 'resources/read' && this.owns(uri)) return this.#read(uri, principal);
    const isOurs = (ref as Params | undefined)?.uri === SESSION_TEMPLATE;
    if (method !== 'completion/complete' || !isOurs) return undefined;
    return this.#complete(String((argument as Params | undefined)?.value ?? ''), principal);
  }

  /** From now on; `undefined` when there is no such resource for the principal. */
  async follow(
    uri: string,
    principal: ConnectedPrincipal,
    watcher: ContextWatcher,
  ): Promise<Following | undefined> {
    const sessionId = parseSessionUri(uri);
    return sessionId === undefined
      ? undefined
      : await this.#contexts.follow(principal, sessionId, watcher);
  }

  async followList(principal: ConnectedPrincipal, onChange: () => void): Promise<Following> {
    return await this.#contexts.followList(principal, onChange);
  }

  async #read(uri: string, principal: ConnectedPrincipal): Promise<Params> {
    const sessionId = parseSessionUri(uri) ?? '';
    const found = await this.#contexts.read(principal, sessionId);
    if (found === undefined) throw failure('unknown_name/session', { uri });
    const { session, ...context } = found;
    const { session_id, state, mode } = session;
    const text = JSON.stringify({ session_id, state, mode, ...context });
    return { contents: [{ uri, mimeType: MIME_TYPE, text }] };
  }

  async #complete(begun: string, principal: ConnectedPrincipal): Promise<Params> {
    const sessions = await this.#contexts.list(principal, LISTED);
    const ids = sessions.map(({ session_id }) => session_id);
    const fitting = ids.filter((id) => id.startsWith(begun));
    const values = fitting.slice(0, COMPLETED);
    const hasMore = fitting.length > values.length;
    return { completion: { values, total: fitting.length, hasMore } };
  }
}

function toSessionUri(sessionId: string): string {
  return SESSION_TEMPLATE.replace('{session_id}', sessionId);
}

const SESSION_URI = /^starloom:\/\/sessions\/([A-Za-z0-9][A-Za-z0-9_.:-]{0,127})\/context$/;

function parseSessionUri(uri: unknown): string | undefined {
  return typeof uri === 'string' ? SESSION_URI.exec(uri)?.[1] : undefined;
}

const TEMPLATE: Params = {
  uriTemplate: SESSION_TEMPLATE,
  name: 'context of a session',
  description: 'What the agents of a session share, as JSON with its version; it tells of updates',
  mimeType: MIME_TYPE,
};
