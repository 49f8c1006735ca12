// Who is signed in. A one-time code arrives in the fragment and leaves the address at once; a key is
// sent once and never kept. Other tabs of this page hand the token over, so a link opened in a new tab
// needs no second sign-in; pages of other origins, other ports too, cannot take part.

import { batch, signal } from '@preact/signals';
import type { SessionStarted, WhoAmI } from '../api-types.ts';
import { csrf, GatewayError, keepCsrf, request, send, whenSignedOut } from './api.ts';

export type SessionState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'signed_out'; readonly why?: GatewayError; readonly ended?: boolean }
  | { readonly kind: 'unreachable'; readonly why: GatewayError }
  | { readonly kind: 'signed_in'; readonly who: WhoAmI };

export const session = signal<SessionState>({ kind: 'starting' });

const ASK_MS = 150;
const tabs = new BroadcastChannel('starloom-console');

export function who(): WhoAmI | undefined {
  return session.value.kind === 'signed_in' ? session.value.who : undefined;
}

export async function startSession(): Promise<void> {
  whenSignedOut(() => {
    keepCsrf('');
    if (session.value.kind === 'signed_in') session.value = { kind: 'signed_out', ended: true };
  });
  tabs.onmessage = ({ data }) => {
    if (data === 'ask' && session.value.kind === 'signed_in') tabs.postMessage({ csrf: csrf() });
    if (data === 'signed_out') session.value = { kind: 'signed_out' };
  };
  // A link that is pasted into a tab which shows this page already loads nothing.
  addEventListener('hashchange', () => {
    const pasted = takeCode();
    if (pasted !== undefined) void signIn({ body: { code: pasted } });
  });
  const code = takeCode();
  const answer = new URLSearchParams(location.search);
  const state = answer.get('state');
  const granted = answer.get('code');
  if (code !== undefined) return signIn({ body: { code } });
  if (state !== null && granted !== null) {
    history.replaceState(null, '', `${location.pathname}#/`);
    const iss = answer.get('iss');
    const oauth = { state, code: granted, proof: takeProof(), ...(iss !== null && { iss }) };
    return signIn({ body: { oauth } });
  }
  if (csrf() === '') keepCsrf(await askOtherTabs());
  if (csrf() === '') session.value = { kind: 'signed_out' };
  else await readWho();
}

/** The one-time code of a link; it leaves the address. */
function takeCode(): string | undefined {
  const code = /[#&]code=([\w.~-]+)/.exec(location.hash)?.[1];
  if (code === undefined) return undefined;
  history.replaceState(null, '', '#/');
  dispatchEvent(new HashChangeEvent('hashchange'));
  return code;
}

export async function signIn(options: { body?: unknown; bearer?: string }): Promise<void> {
  try {
    const response = await send('POST', 'session', { body: {}, ...options });
    const started = (await response.json()) as SessionStarted;
    keepCsrf(started.csrf);
    await readWho();
  } catch (error) {
    session.value = { kind: 'signed_out', why: GatewayError.from(error) };
  }
}

const PROOF = 'starloom.proof';

/** Shows the gateway that this tab began to sign in at an issuer. */
export function keepProof(proof: string): void {
  sessionStorage.setItem(PROOF, proof);
}

function takeProof(): string {
  const proof = sessionStorage.getItem(PROOF) ?? '';
  sessionStorage.removeItem(PROOF);
  return proof;
}

export async function signOut(): Promise<void> {
  await request('DELETE', 'session').catch(() => undefined);
  batch(() => {
    keepCsrf('');
    session.value = { kind: 'signed_out' };
  });
  tabs.postMessage('signed_out');
}

export async function readWho(): Promise<void> {
  try {
    const answer = await request<WhoAmI>('GET', 'session');
    if (answer.running) session.value = { kind: 'signed_in', who: answer };
  } catch (error) {
    const why = GatewayError.from(error);
    if (why.status === 401 || why.status === 403) {
      keepCsrf('');
      session.value = { kind: 'signed_out', ended: true };
    } else session.value = { kind: 'unreachable', why };
  }
}

async function askOtherTabs(): Promise<string> {
  const asking = new BroadcastChannel('starloom-console');
  try {
    return await new Promise((resolve) => {
      asking.onmessage = ({ data }) => {
        if (typeof data?.csrf === 'string') resolve(data.csrf);
      };
      asking.postMessage('ask');
      setTimeout(resolve, ASK_MS, '');
    });
  } finally {
    asking.close();
  }
}
