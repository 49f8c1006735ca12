import { describe, expect, it } from 'vitest';
import { reasonTable } from '../src/reason-table.ts';

const failure = reasonTable({
  full: { code: 'OVERLOADED', message: 'The shelf is full' },
  'taken/book': {
    code: 'BAD_INPUT',
    message: '{reader} has "{title}"',
    fix: 'ask {reader} for it',
    details: { sent: false },
  },
});

describe('reasonTable', () => {
  it('makes an error of a row, with its reason', () => {
    const error = failure('full');
    expect(error).toMatchObject({ code: 'OVERLOADED', message: 'The shelf is full' });
    expect(error.details).toEqual({ reason: 'full' });
  });

  it('fills facts into sentence and fix, and keeps them as details', () => {
    const error = failure('taken/book', { reader: 'ann', title: '{reader}', page: 3 });
    expect(error.message).toBe('ann has "{reader}"');
    expect(error.details).toEqual({
      reason: 'taken',
      sent: false,
      fix: 'ask ann for it',
      reader: 'ann',
      title: '{reader}',
      page: 3,
    });
  });

  it('prefers a fix that is given, and leaves undefined facts out', () => {
    const facts = { reader: 'ann', title: 'x', fix: 'buy one', page: undefined };
    expect(failure('taken/book', facts).details).toEqual({
      reason: 'taken',
      sent: false,
      fix: 'buy one',
      reader: 'ann',
      title: 'x',
    });
  });

  it('keeps the cause', () => {
    const cause = new Error('broken');
    expect(failure('full', {}, { cause }).cause).toBe(cause);
  });

  it('demands the facts that the sentence names', () => {
    // @ts-expect-error: the title is missing
    failure('taken/book', { reader: 'ann' });
    // @ts-expect-error: no such row
    expect(() => failure('lost')).toThrow();
  });
});
