// WebSocket frames at the price of a look at their bytes: a thousand clients share one process, and
// what they cost must not be taken for what the gateway costs.

const FINAL = 0x80;
const MASKED = 0x80;
const MASK_BYTES = 4;
const SHORT = 126;
const LONG = 127;

export const TEXT = 0x1;
export const PING = 0x9;
export const PONG = 0xa;

/** As a client must send it, masked; by zeros, which changes nothing. */
export function toFrame(opcode: number, payload: string | Buffer): Buffer {
  const body = Buffer.from(payload);
  const length = lengthBytes(body.length);
  return Buffer.concat([Buffer.from([FINAL | opcode]), length, Buffer.alloc(MASK_BYTES), body]);
}

/**
 * Takes bytes as they come, calls back for each whole frame of a server. Neither the bytes nor the
 * payload may be kept: they are overwritten by what comes next.
 */
export function createFrameReader(
  onFrame: (opcode: number, payload: Buffer) => void,
): (bytes: Buffer, length: number) => void {
  let rest: Buffer | undefined;
  return (read, count) => {
    const bytes = rest ? Buffer.concat([rest, read.subarray(0, count)]) : read;
    const length = rest ? bytes.length : count;
    let at = 0;
    for (;;) {
      const start = payloadStart(bytes, at);
      if (start > length) break;
      const end = start + payloadLength(bytes, at);
      if (end > length) break;
      onFrame((bytes[at] ?? 0) & 0xf, bytes.subarray(start, end));
      at = end;
    }
    rest = at < length ? Buffer.from(bytes.subarray(at, length)) : undefined;
  };
}

function payloadStart(bytes: Buffer, at: number): number {
  const short = (bytes[at + 1] ?? 0) & 0x7f;
  return at + (short === LONG ? 10 : short === SHORT ? 4 : 2);
}

function payloadLength(bytes: Buffer, at: number): number {
  const short = (bytes[at + 1] ?? 0) & 0x7f;
  if (short === LONG) return Number(bytes.readBigUInt64BE(at + 2));
  return short === SHORT ? bytes.readUInt16BE(at + 2) : short;
}

function lengthBytes(length: number): Buffer {
  if (length < SHORT) return Buffer.from([MASKED | length]);
  if (length < 1 << 16) return Buffer.from([MASKED | SHORT, length >> 8, length & 0xff]);
  const bytes = Buffer.alloc(9);
  bytes[0] = MASKED | LONG;
  bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}
