import { acquireContext, createSession, updateRequests } from '../update-request.ts';
import { Connection, type GatewayAddress } from './connection.ts';
import { TEXT, toFrame } from './frames.ts';

/** A connection with a session of its own, on whose context it has the lock. */
export interface Writer extends Disposable {
  readonly connection: Connection;
  readonly sessionId: string;
  readonly lockToken: number;
  /** Updates, ready to be sent. */
  readonly frames: readonly Buffer[];
}

export async function openWriter(address: GatewayAddress): Promise<Writer> {
  const connection = await Connection.open(address);
  const sessionId = String((await connection.ask(createSession())).session_id);
  const lockToken = Number((await connection.ask(acquireContext(sessionId))).lock_token);
  const requests = updateRequests(sessionId, { lock_token: lockToken });
  return {
    connection,
    sessionId,
    lockToken,
    frames: requests.map((request) => toFrame(TEXT, request)),
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}

/** A writer is sent nothing but answers. */
export function isDone(payload: Buffer): boolean {
  return payload.includes('"result"');
}
