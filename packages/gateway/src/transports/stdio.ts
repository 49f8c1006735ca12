import type { Readable, Writable } from 'node:stream';
import { FabricError, type Log, orAborted } from '@starloom/core';
import { type BadLine, readLines, whenDrained } from '@starloom/wire';
import { failure } from '../reasons.ts';
import type { Incoming, MessageChannel } from './message-channel.ts';

export interface StdioChannelOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxLineBytes: number;
  readonly log: Log;
  /** Awaited when the input has ended and answers can still be written. */
  readonly untilAnswered?: (() => Promise<void>) | undefined;
}

/** One message a line; one that cannot be read is refused, and the next is read. */
export function stdioChannel({
  input,
  output,
  maxLineBytes,
  log,
  untilAnswered,
}: StdioChannelOptions): MessageChannel {
  const closing = new AbortController();
  const read = async (onText: (text: Incoming) => Promise<void> | void) => {
    let room: Promise<void> | void;
    const give = (text: Incoming) => {
      room = onText(text) ?? room;
    };
    async function* chunks() {
      for await (const chunk of input) {
        yield chunk as Uint8Array;
        if (room) await orAborted(room, closing.signal);
      }
    }
    const onBadLine = (why: BadLine) =>
      give(why === 'invalid_utf8' ? failure(why) : failure(why, { limit: maxLineBytes }));
    for await (const line of readLines(chunks(), { maxLineBytes, onBadLine })) {
      if (line !== '') give(line);
    }
  };
  return {
    open(onText, onClose) {
      void read(onText)
        .catch((error: unknown) => {
          if (closing.signal.aborted) return;
          log.warn({ error: FabricError.from(error) }, 'input is broken');
        })
        .then(() => (closing.signal.aborted || !output.writable ? undefined : untilAnswered?.()))
        .finally(onClose);
    },
    async write(text) {
      if (!output.writable) throw failure('client_gone');
      if (!output.write(`${text}\n`))
        await whenDrained(output, { whenClosed: (cause) => failure('client_gone', {}, { cause }) });
    },
    flushed: () => untilWritten(output),
    async close() {
      closing.abort();
      input.destroy();
    },
  };
}

/** An empty write is done after all that was written before it. */
function untilWritten(output: Writable): Promise<void> {
  if (!output.writable || output.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    output.once('close', resolve);
    output.write('', () => resolve());
  });
}
