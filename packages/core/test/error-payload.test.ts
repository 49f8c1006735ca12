import { describe, expect, it } from 'vitest';
import { bounded, FabricError, fromErrorPayload, fromErrorText } from '../src/index.ts';

const failure = new FabricError('RATE_LIMITED', 'Too many calls', {
  details: { retry_after_ms: 5, sent: false },
});

describe('an error payload of another Starloom', () => {
  it('keeps code, message and details, but not what it says of having been sent', () => {
    const read = fromErrorPayload(failure.toPayload(null));
    expect(read).toMatchObject({ code: 'RATE_LIMITED', message: 'Too many calls' });
    expect(read?.details).toEqual({ retry_after_ms: 5, upstream: { code: 'RATE_LIMITED' } });
  });

  it('is found in the text that repeats it', () => {
    const text = JSON.stringify(failure.toPayload(null));
    expect(fromErrorText(text)).toMatchObject({ code: 'RATE_LIMITED' });
    expect(fromErrorText(text.slice(0, -1))).toBeUndefined();
    expect(fromErrorText('some words')).toBeUndefined();
  });

  it.each([
    ['null', null],
    ['an array', [failure.toPayload(null)]],
    ['a success', { ...failure.toPayload(null), ok: true }],
    ['an unknown code', { ok: false, error: { code: 'toString', message: '' } }],
    ['no error', { ok: false }],
  ])('is not read out of %s', (_, value) => {
    expect(fromErrorPayload(value)).toBeUndefined();
  });

  it('cannot fill a log with its message', () => {
    const read = fromErrorPayload({
      ok: false,
      error: { code: 'INTERNAL', message: 'x'.repeat(1e6) },
    });
    expect(read?.message.length).toBe(2048);
    expect(bounded('😀😀', 2).isWellFormed()).toBe(true);
  });
});
