import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { FabricError, type Log } from '@starloom/core';
import { readLines } from '@starloom/wire';
import type { MessageChannel } from './message-transport.ts';

export interface StdioChannelOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxLineBytes: number;
  readonly log: Log;
}

/** One message a line. */
export function stdioChannel({
  input,
  output,
  maxLineBytes,
  log,
}: StdioChannelOptions): MessageChannel {
  let isClosed = false;
  let room: Promise<unknown> | undefined;
  const read = async (onText: (text: string) => void) => {
    for await (const line of readLines(input, { maxLineBytes })) if (line !== '') onText(line);
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
