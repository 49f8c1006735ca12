import { orAborted } from '@starloom/core';

/**
 * What the stream gives, until it ends or the signal aborts. However it is left, the stream is
 * cancelled, and with it the connection behind it.
 */
export async function* readStream<T>(
  stream: ReadableStream<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    while (true) {
      const reading = reader.read();
      const { done, value } = await (signal === undefined ? reading : orAborted(reading, signal));
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
