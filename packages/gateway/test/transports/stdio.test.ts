import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { stdioChannel } from '../../src/index.ts';

/** A channel on pipes; a line "hold" is held back for until there is room. */
function openPipes() {
  const input = new PassThrough();
  const output = new PassThrough();
  const channel = stdioChannel({ input, output, maxLineBytes: 1_000, log: silentLog });
  const seen = { texts: [] as unknown[], isGone: false };
  const room = Promise.withResolvers<void>();
  channel.open(
    (text) => {
      seen.texts.push(text);
      return text === 'hold' ? room.promise : undefined;
    },
    () => {
      seen.isGone = true;
    },
  );
  return { input, output, channel, seen, makeRoom: room.resolve };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

describe('standard input', () => {
  it('is not read until there is room, whether its lines are good or bad', async () => {
    const { input, seen, makeRoom } = openPipes();
    input.write('hold\n');
    await expect.poll(() => seen.texts).toEqual(['hold']);
    input.write('next\n');
    input.write(Uint8Array.of(0xff, 0x0a));
    input.end('last\n');
    await turns(20);
    expect(seen).toEqual({ texts: ['hold'], isGone: false });
    makeRoom();
    await expect.poll(() => seen.isGone).toBe(true);
    expect(seen.texts).toEqual(['hold', 'next', expect.any(Error), 'last']);
  });

  it('can be closed while it is held back', async () => {
    const { input, channel, seen } = openPipes();
    input.write('hold\n');
    await expect.poll(() => seen.texts).toEqual(['hold']);
    await channel.close();
    await expect.poll(() => seen.isGone).toBe(true);
  });
});

describe('standard output', () => {
  it('is waited for while it is full, and no longer when nobody reads it any more', async () => {
    const { output, channel } = openPipes();
    const written = Promise.resolve(channel.write('x'.repeat(100_000)));
    const refused = expect(written).rejects.toMatchObject({ code: 'CANCELLED' });
    output.destroy();
    await refused;
    await expect(channel.write('x')).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});
