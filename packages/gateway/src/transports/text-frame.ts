const FINAL_TEXT = 0x81;
const FINAL_CLOSE = 0x88;
const TWO_BYTES = 126;
const EIGHT_BYTES = 127;

let latest: { readonly text: string; readonly frame: Buffer } | undefined;

/**
 * A text as one whole WebSocket frame of a server (RFC 6455: final, unmasked). In one buffer it
 * costs one plain write, where `ws` writes header and text apart; that shows when thousands receive
 * it. They receive the same text one after the other, so the latest frame is kept; no caller may
 * change it.
 */
export function toTextFrame(text: string): Buffer {
  if (text !== latest?.text) latest = { text, frame: encode(text) };
  return latest.frame;
}

/** The frame that ends a connection; the reason has at most 123 bytes. */
export function toCloseFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, 123);
  return Buffer.concat([Buffer.from([FINAL_CLOSE, 2 + text.length, code >> 8, code & 0xff]), text]);
}

function encode(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const begin = length < TWO_BYTES ? 2 : length <= 0xffff ? 4 : 10;
  const frame = Buffer.allocUnsafe(begin + length);
  frame[0] = FINAL_TEXT;
  if (begin === 2) frame[1] = length;
  else if (begin === 4) {
    frame[1] = TWO_BYTES;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = EIGHT_BYTES;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, begin);
  return frame;
}
