// The whole plane in this process: texts in, texts out, as a client sends them to `/rpc`.

import { type CoordinationStore, createCoordination, type RpcPeer } from '@starloom/coordination';
import { FabricError } from '@starloom/core';
import { measureHere } from './measure-here.ts';
import { type CellName, IN_FLIGHT, SESSIONS } from './plan.ts';
import { acquireContext, createSession, type LockProof, updateRequests } from './update-request.ts';
import type { UpdateTarget } from './update-target.ts';

/** The writers send no heartbeats. */
const NEVER_MS = 3_600_000;

export interface Plane extends AsyncDisposable {
  readonly writers: readonly Writer[];
}

/** One agent with a session of its own. */
export interface Writer {
  readonly peer: RpcPeer;
  readonly requests: readonly string[];
}

/** How an update is let in: by a lock that is held all the time, or by one for itself. */
export type LockUse = 'lock_token' | 'with_lock';

export async function openPlane(
  store: CoordinationStore,
  use: LockUse,
  sessions = SESSIONS,
): Promise<Plane> {
  const coordination = createCoordination({ store, heartbeatIntervalMs: NEVER_MS });
  const open = async (): Promise<Writer> => {
    const peer = coordination.connect({ principal: { id: 'bench' } });
    const { session_id } = await ask(peer, createSession());
    const id = String(session_id);
    return { peer, requests: updateRequests(id, await prove(peer, id, use)) };
  };
  const writers = await Promise.all(Array.from({ length: sessions }, open));
  return { writers, [Symbol.asyncDispose]: () => coordination.close() };
}

export function planeTarget(cell: CellName, { writers }: Plane): UpdateTarget {
  const step = (worker: number, turn: number) =>
    update(writers[worker % writers.length] ?? writers[0], turn);
  const work = { workers: IN_FLIGHT, updatesPerStep: 1, step };
  return { cell, name: 'starloom', measure: (slice) => measureHere(work, slice) };
}

/** Throws when it is refused. */
export async function update(writer: Writer | undefined, turn: number): Promise<void> {
  if (writer === undefined) throw new FabricError('BAD_INPUT', 'A plane needs a writer');
  const { peer, requests } = writer;
  const answer = await answerTo(peer, requests[turn % requests.length] ?? '');
  if (!answer?.includes('"result"')) throw refused(answer);
}

async function prove(peer: RpcPeer, sessionId: string, use: LockUse): Promise<LockProof> {
  if (use === 'with_lock') return { with_lock: true };
  const { lock_token } = await ask(peer, acquireContext(sessionId));
  return { lock_token: Number(lock_token) };
}

async function ask(peer: RpcPeer, request: { readonly method: string; readonly params: object }) {
  const text = await answerTo(peer, JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }));
  const { result } = JSON.parse(text ?? '{}') as { result?: Readonly<Record<string, unknown>> };
  if (result) return result;
  throw refused(text);
}

/** As a transport does it: text in, text out. */
async function answerTo(peer: RpcPeer, text: string): Promise<string | undefined> {
  return (await peer.reply(JSON.parse(text)))?.toText();
}

function refused(answer: string | undefined): FabricError {
  return new FabricError('UPSTREAM_ERROR', `A request was refused: ${answer?.slice(0, 500)}`);
}
