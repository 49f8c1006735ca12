// The coordination plane on a channel of messages, a WebSocket or standard input and output: requests
// are done in the order they come, and what is pushed comes in between.

import type { Coordination, RpcPeer } from '@starloom/coordination';
import { FabricError, type Log } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { toRefusal } from '@starloom/wire';
import { parseValue } from '../transports/frame.ts';
import type { MessageChannel } from '../transports/message-transport.ts';

export interface RpcChannelOptions {
  readonly coordination: Coordination;
  readonly principal: Principal;
  readonly log: Log;
}

/** Resolves when the client is gone and everything was answered that could be. */
export async function serveRpcChannel(
  channel: MessageChannel,
  { coordination, principal, log }: RpcChannelOptions,
): Promise<void> {
  const peer = coordination.connect({ principal, push: channel.write });
  const gone = Promise.withResolvers<void>();
  const waiting = new Set<Promise<void>>();
  let turn: Promise<void> = Promise.resolve();
  const receive = async (text: string) => {
    const answer = await answerTo(peer, text);
    if (answer !== undefined) await channel.write(JSON.stringify(answer));
  };
  channel.open((text) => {
    const answered = turn
      .then(() => receive(text))
      .catch((error: unknown) => {
        log.debug({ error: FabricError.from(error) }, 'an answer could not be sent');
      });
    if (mayWait(text)) {
      waiting.add(answered);
      void answered.then(() => waiting.delete(answered));
    } else turn = answered;
  }, gone.resolve);
  await gone.promise;
  await turn;
  await peer.close();
  await Promise.all(waiting);
}

/** One request after the other, but a request that may wait for a lock holds nobody up. */
function mayWait(text: string): boolean {
  return text.includes('"wait_ms"');
}

async function answerTo(peer: RpcPeer, text: string): Promise<unknown> {
  try {
    return await peer.handle(parseValue(text));
  } catch (error) {
    return JSON.parse(toRefusal(error, null, 'details').body);
  }
}
