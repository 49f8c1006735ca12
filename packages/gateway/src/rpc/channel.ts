// The coordination plane on a channel of messages, a WebSocket or standard input and output: requests
// are done in the order they come, and what is pushed comes in between.

import type { Coordination } from '@starloom/coordination';
import { FabricError, type Log } from '@starloom/core';
import type { Principal } from '@starloom/identity';
import { toRefusal } from '@starloom/wire';
import { parseValue } from '../transports/frame.ts';
import {
  type Incoming,
  idFor,
  type MessageChannel,
  textOf,
} from '../transports/message-transport.ts';
import { mayWait } from './may-wait.ts';

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
  const inTurn = (work: () => Promise<string | undefined>) =>
    turn
      .then(work)
      .then((answer) => (answer === undefined ? undefined : channel.write(answer)))
      .catch((error: unknown) => {
        log.debug({ error: FabricError.from(error) }, 'an answer could not be sent');
      });
  channel.open((incoming) => {
    const { message, refusal } = read(incoming);
    const answered = inTurn(async () => refusal ?? toText(await peer.handle(message)));
    if (mayWait(message)) {
      waiting.add(answered);
      void answered.then(() => waiting.delete(answered));
    } else turn = answered;
  }, gone.resolve);
  await gone.promise;
  await turn;
  await peer.close();
  await Promise.all(waiting);
}

interface Read {
  readonly message?: unknown;
  readonly refusal?: string;
}

function read(incoming: Incoming): Read {
  try {
    return { message: parseValue(textOf(incoming)) };
  } catch (error) {
    return { refusal: toRefusal(error, idFor(incoming, error), 'details').body };
  }
}

function toText(answer: unknown): string | undefined {
  return answer === undefined ? undefined : JSON.stringify(answer);
}
