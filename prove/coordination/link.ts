// A connection to the plane as a client sees it: it answers, refuses, or nothing is known.

import type { Coordination } from '@starloom/coordination';
import { REASONS } from '@starloom/coordination';

export type Fields = Readonly<Record<string, unknown>>;

export type Answer =
  | { readonly kind: 'ok'; readonly result: Fields }
  | { readonly kind: 'refused'; readonly reason: string; readonly code: number }
  | { readonly kind: 'unknown'; readonly why: string };

export interface Link {
  readonly isOpen: boolean;
  request(method: string, params: Fields): Promise<Answer>;
  close(): void;
}

export type OnPush = (method: string, params: Fields) => void;
export type OpenLink = (onPush: OnPush) => Promise<Link>;

/** What is not known to have been refused before it took effect may have taken effect. */
export function toAnswer(message: Fields): Answer {
  if (isFields(message.result)) return { kind: 'ok', result: message.result };
  const error = isFields(message.error) ? message.error : {};
  const data = isFields(error.data) ? error.data : {};
  const reason = String(data.reason ?? data.code ?? error.code);
  const isRefusal = Object.hasOwn(REASONS, reason) && reason !== 'in_progress';
  if (!isRefusal) return { kind: 'unknown', why: reason };
  return { kind: 'refused', reason, code: Number(error.code) };
}

/** A client in the process of the plane. */
export function openLocalLink(coordination: Coordination): OpenLink {
  return async (onPush) => {
    let isOpen = true;
    let id = 0;
    const push = (notification: string) => {
      const { method, params } = JSON.parse(notification);
      if (isOpen) onPush(method, params);
    };
    const peer = coordination.connect({ principal: { id: 'prover' }, push });
    return {
      get isOpen() {
        return isOpen;
      },
      async request(method, params) {
        id += 1;
        const answer = await peer.handle({ jsonrpc: '2.0', id, method, params });
        if (!isOpen) return { kind: 'unknown', why: 'closed' };
        return toAnswer(isFields(answer) ? answer : {});
      },
      close() {
        isOpen = false;
        void peer.close();
      },
    };
  };
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
