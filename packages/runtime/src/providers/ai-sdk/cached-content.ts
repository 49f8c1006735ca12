// Gemini keeps tools and system prompt under an id. They are uploaded once, before the first question that
// has them; questions then name the id. It is shared by all sessions of the provider, renewed while it is used,
// and deleted when the provider closes. Where the service refuses to keep them, they go with every question.

import { createHash } from 'node:crypto';
import { isObject, type Log } from '@starloom/core';

type Fetch = typeof globalThis.fetch;
type Headers = NonNullable<NonNullable<Parameters<Fetch>[1]>['headers']>;

export interface CachedContentOptions {
  readonly fetch: Fetch;
  readonly log: Log;
  /** Monotonic, in milliseconds. */
  readonly now?: () => number;
}

export interface CachedContent {
  readonly fetch: Fetch;
  close(): Promise<void>;
}

const TTL_MS = 600_000;
const TTL = { ttl: `${TTL_MS / 1000}s` };
/** The service keeps nothing below 1,024 tokens. */
const MIN_CHARACTERS = 4_096;
const MAX_KEPT = 8;
const MAX_WAIT_MS = 15_000;
const QUESTION = /^(?<base>.+)\/(?<model>models\/[^/:]+):(?:streamG|g)enerateContent(?:\?|$)/;

interface Kept {
  /** Undefined: the service does not keep it. */
  readonly id: Promise<string | undefined>;
  readonly base: string;
  readonly headers: Headers;
  expiresAt: number;
}

export function createCachedContent({
  fetch,
  log,
  now = () => performance.now(),
}: CachedContentOptions): CachedContent {
  /** The one that was used last is last. */
  const kept = new Map<string, Kept>();

  const send = async (method: string, url: string, headers: Headers, body?: object) => {
    const response = await fetch(url, {
      method,
      headers,
      signal: AbortSignal.timeout(MAX_WAIT_MS),
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw new Error(`${method} answered ${response.status}`);
    return answer;
  };

  const create = async (base: string, headers: Headers, content: object) => {
    try {
      const answer = await send('POST', `${base}/cachedContents`, headers, { ...content, ...TTL });
      const name = isObject(answer) ? answer.name : undefined;
      return typeof name === 'string' && /^cachedContents\/[\w-]+$/.test(name) ? name : undefined;
    } catch (error) {
      log.debug({ error: String(error) }, 'the model keeps no tools: they go with every question');
      return undefined;
    }
  };

  const remove = async ({ id, base, headers }: Kept) => {
    const name = await id;
    if (name === undefined) return;
    await send('DELETE', `${base}/${name}`, headers).catch((error: unknown) =>
      log.debug({ error: String(error) }, 'kept tools are not deleted; they expire by themselves'),
    );
  };

  const renew = (key: string, one: Kept) => {
    one.expiresAt = now() + TTL_MS;
    void one.id
      .then((name) => name && send('PATCH', `${one.base}/${name}?updateMask=ttl`, one.headers, TTL))
      .catch(() => kept.delete(key));
  };

  const find = (base: string, headers: Headers, content: object): Kept & { key: string } => {
    const json = JSON.stringify([base, content]);
    const key = createHash('sha256').update(json).digest('base64url');
    const known = kept.get(key);
    const isCurrent = known !== undefined && known.expiresAt > now();
    const one = isCurrent
      ? known
      : { id: create(base, headers, content), base, headers, expiresAt: now() + TTL_MS };
    kept.delete(key);
    kept.set(key, one);
    if (isCurrent && one.expiresAt - now() < TTL_MS / 2) renew(key, one);
    for (const [oldest, old] of kept) {
      if (kept.size <= MAX_KEPT) break;
      kept.delete(oldest);
      void remove(old);
    }
    return { ...one, key };
  };

  return {
    async fetch(input, init) {
      const question = toQuestion(input, init?.body);
      if (!question) return fetch(input, init);
      const { base, content, rest } = question;
      const { id, key } = find(base, init?.headers ?? {}, content);
      const cachedContent = await id;
      if (cachedContent === undefined) return fetch(input, init);
      const response = await fetch(input, {
        ...init,
        body: JSON.stringify({ ...rest, cachedContent }),
      });
      if (response.status !== 403 && response.status !== 404) return response;
      // The service has dropped it. Asked whole, the question shows whether there is another reason.
      kept.delete(key);
      await response.body?.cancel();
      return fetch(input, init);
    },
    async close() {
      const all = [...kept.values()];
      kept.clear();
      await Promise.all(all.map(remove));
    },
  };
}

/** What of a question can be kept, and the rest; `undefined` for what goes out as it is. */
function toQuestion(input: Parameters<Fetch>[0], body: unknown) {
  const { base, model } = QUESTION.exec(String(input))?.groups ?? {};
  if (base === undefined || typeof body !== 'string' || body.length < MIN_CHARACTERS) {
    return undefined;
  }
  const { tools, toolConfig, systemInstruction, ...rest } = JSON.parse(body);
  const content = { model, systemInstruction, tools, toolConfig };
  const isSmall = JSON.stringify(content).length < MIN_CHARACTERS;
  return isSmall || 'cachedContent' in rest ? undefined : { base, content, rest };
}
