// Where agents notify the gateway that a task of theirs changed. Each webhook belongs to one attempt: a
// random path, a token of its own, and it ends with the attempt. A notice wakes the adapter, which asks
// the agent itself; nothing of the notice is used.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Clock, type InboundWebhook, isLoopback, type Manifest } from '@starloom/core';
import { failure } from './reasons.ts';

interface InboundWebhooksOptions {
  /** Where agents elsewhere reach the gateway; without it only those on this machine are served. */
  readonly publicUrl?: string | undefined;
  readonly clock: Clock;
}

interface Hook {
  readonly digest: Buffer;
  readonly onNotice: () => void;
  /** Notices that are taken now; refills with time. */
  left: number;
  filledAt: number;
}

/** No agent has this id: those begin with a letter or a digit. */
export const NOTICE_ROOT = '/a2a/_push/';
const MAX_HOOKS = 10_000;
const BURST = 50;
const PER_SECOND = 10;
const NO_DIGEST = Buffer.alloc(32);

export class InboundWebhooks {
  readonly #options: InboundWebhooksOptions;
  readonly #hooks = new Map<string, Hook>();
  #ownUrl: string | undefined;

  constructor(options: InboundWebhooksOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#hooks.size;
  }

  /** From now on agents on this machine can reach the gateway here. */
  listensAt(url: string): void {
    this.#ownUrl = url.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:)/, '//127.0.0.1');
  }

  /** `undefined` when the agent cannot reach the gateway, or when too many are open. */
  open({ endpoint }: Manifest, onNotice: () => void): InboundWebhook | undefined {
    const host = URL.parse(endpoint.uri ?? '')?.hostname.replace(/^\[|\]$/g, '') ?? '';
    const base = isLoopback(host) ? this.#ownUrl : this.#options.publicUrl?.replace(/\/+$/, '');
    if (base === undefined || this.#hooks.size >= MAX_HOOKS) return undefined;
    const id = randomBytes(16).toString('hex');
    const token = randomBytes(32).toString('base64url');
    const filledAt = this.#options.clock.monotonic();
    this.#hooks.set(id, { digest: digestOf(token), onNotice, left: BURST, filledAt });
    const close = () => void this.#hooks.delete(id);
    return { url: `${base}${NOTICE_ROOT}${id}`, token, [Symbol.dispose]: close };
  }

  /** Takes a notice by its head. Throws the same for an unknown id and for a wrong token. */
  take(method: string | undefined, pathname: string, headers: IncomingHttpHeaders): void {
    const hook = this.#hooks.get(pathname.slice(NOTICE_ROOT.length));
    const isProven = timingSafeEqual(digestOf(tokenOf(headers)), hook?.digest ?? NO_DIGEST);
    if (!hook || !isProven || method !== 'POST') throw failure('not_found/webhook');
    this.#assertRate(hook);
    hook.onNotice();
  }

  #assertRate(hook: Hook): void {
    const now = this.#options.clock.monotonic();
    const refilled = hook.left + ((now - hook.filledAt) / 1_000) * PER_SECOND;
    hook.left = Math.min(BURST, refilled);
    hook.filledAt = now;
    if (hook.left < 1) throw failure('notices', { retry_after_ms: 1_000 / PER_SECOND });
    hook.left -= 1;
  }
}

function tokenOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-a2a-notification-token'];
  if (typeof given === 'string') return given;
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
