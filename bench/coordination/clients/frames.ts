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

/** Takes bytes as they come, calls back for each whole frame of a server. */
export function createFrameReader(
  onFrame: (opcode: number, payload: Buffer) => void,
): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  return (chunk) => {
    let bytes = rest ? Buffer.concat([rest, chunk]) : chunk;
    for (;;) {
      const frame = readFrame(bytes);
      if (frame === undefined) break;
      onFrame(frame.opcode, frame.payload);
      bytes = bytes.subarray(frame.end);
    }
    rest = bytes.length > 0 ? bytes : undefined;
  };
}

function readFrame(bytes: Buffer) {
  const short = (bytes[1] ?? 0) & 0x7f;
  const start = short === LONG ? 10 : short === SHORT ? 4 : 2;
  if (bytes.length < start) return undefined;
  const length =
    short === LONG
      ? Number(bytes.readBigUInt64BE(2))
      : short === SHORT
        ? bytes.readUInt16BE(2)
        : short;
  const end = start + length;
  if (bytes.length < end) return undefined;
  return { opcode: (bytes[0] ?? 0) & 0xf, payload: bytes.subarray(start, end), end };
}

function lengthBytes(length: number): Buffer {
  if (length < SHORT) return Buffer.from([MASKED | length]);
  if (length < 1 << 16) return Buffer.from([MASKED | SHORT, length >> 8, length & 0xff]);
  const bytes = Buffer.alloc(9);
  bytes[0] = MASKED | LONG;
  bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}
