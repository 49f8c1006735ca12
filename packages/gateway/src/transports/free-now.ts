/**
 * Gives the memory of a large buffer back at once. Left to the garbage collector it stays until a later
 * collection, and a client that sends fast takes hundreds of megabytes meanwhile. The buffer is empty
 * afterwards; one that shares its memory with others is left alone.
 */
export function freeNow({ buffer, byteLength }: Buffer): void {
  if (byteLength >= LARGE_BYTES && byteLength === buffer.byteLength && 'transfer' in buffer) {
    buffer.transfer(0);
  }
}

const LARGE_BYTES = 16 * 1024;
