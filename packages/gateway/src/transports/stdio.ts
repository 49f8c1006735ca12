import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { FabricError, type Log } from '@starloom/core';
import { type BadLine, readLines } from '@starloom/wire';
import { INVALID_REQUEST, PARSE_ERROR } from './frame.ts';
import type { Incoming, MessageChannel } from './message-transport.ts';

export interface StdioChannelOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxLineBytes: number;
  readonly log: Log;
}

/** One message a line; one that cannot be read is refused, and the next is read. */
export function stdioChannel({
  input,
  output,
  maxLineBytes,
  log,
}: StdioChannelOptions): MessageChannel {
  let isClosed = false;
  let room: Promise<unknown> | undefined;
  const read = async (onText: (text: Incoming) => void) => {
    const onBadLine = (why: BadLine) => onText(refused(why, maxLineBytes));
    for await (const line of readLines(input, { maxLineBytes, onBadLine })) {
      if (line !== '') onText(line);
    }
  };
  return {
    open(onText, onClose) {
      read(onText)
        .catch((error: unknown) => {
          if (!isClosed) log.warn({ error: FabricError.from(error) }, 'input is broken');
        })
        .finally(onClose);
    },
    async write(text) {
      if (!output.writable) throw new FabricError('CANCELLED', 'Nobody reads our output any more');
      if (output.write(`${text}\n`)) return;
      room ??= once(output, 'drain').finally(() => {
        room = undefined;
      });
      await room;
    },
    async close() {
      isClosed = true;
      input.destroy();
    },
  };
}

function refused(why: BadLine, limit: number): FabricError {
  if (why === 'invalid_utf8') {
    return new FabricError('BAD_INPUT', 'The line is not valid UTF-8', {
      details: { reason: why, rpc_code: PARSE_ERROR },
    });
  }
  return new FabricError('BAD_INPUT', `The line is larger than ${limit} bytes`, {
    details: { reason: why, limit, rpc_code: INVALID_REQUEST, fix: 'raise limits.body_bytes' },
  });
}
