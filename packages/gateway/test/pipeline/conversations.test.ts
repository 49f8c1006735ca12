import { randomBytes } from 'node:crypto';
import { ManualClock } from '@starloom/core/testing';
import { SchemaValidators } from '@starloom/wire/foreign-schema';
import { describe, expect, it } from 'vitest';
import { Conversations } from '../../src/pipeline/conversations.ts';
import { ParkedCalls } from '../../src/pipeline/parked-calls.ts';
import type { RunningCall } from '../../src/pipeline/running-call.ts';

const validators = new SchemaValidators();
const question = { id: 'name', kind: 'form' as const, schema: { type: 'object' } };
const asked = {
  principalId: 'alice',
  agentId: 'percy',
  capability: 'work',
  handle: { state: 1 },
  questions: [question],
};
const answer = [{ id: 'name', response: { action: 'accept' as const, content: {} } }];
const reasonOf = (act: () => unknown) => {
  try {
    act();
    return undefined;
  } catch (error) {
    return (error as { details: { reason: string } }).details.reason;
  }
};

describe('a conversation', () => {
  it('takes no answer once its question has expired', () => {
    const clock = new ManualClock();
    const conversations = new Conversations({ clock, validators });
    const id = conversations.seal(asked, clock.now() + 1_000) ?? '';
    expect(conversations.open(id, 'alice', answer).responses).toHaveLength(1);
    clock.advance(1_001);
    expect(reasonOf(() => conversations.open(id, 'alice', answer))).toBe('no_open_question');
  });

  it('without a question is unknown after a day, and cannot be altered or read', () => {
    const clock = new ManualClock();
    const conversations = new Conversations({ clock, validators });
    const id = conversations.seal({ ...asked, questions: [] }) ?? '';
    expect(id).not.toContain(Buffer.from('percy').toString('base64url'));
    const altered = `${id.slice(0, -2)}${id.endsWith('AA') ? 'BB' : 'AA'}`;
    const open = (text: string) => () => conversations.open(text, 'alice', undefined);
    expect(reasonOf(open(id))).toBeUndefined();
    expect(reasonOf(open(altered))).toBe('unknown_conversation');
    clock.advance(24 * 3_600_000 + 1);
    expect(reasonOf(open(id))).toBe('unknown_conversation');
  });

  it('is good where the key is the same, and nowhere else', () => {
    const clock = new ManualClock();
    const key = randomBytes(32);
    const id = new Conversations({ clock, key, validators }).seal(asked) ?? '';
    const open = (other: Conversations) => reasonOf(() => other.open(id, 'alice', answer));
    expect(open(new Conversations({ clock, key, validators }))).toBeUndefined();
    expect(open(new Conversations({ clock, validators }))).toBe('unknown_conversation');
  });
});

describe('a call that waits in this process', () => {
  it('is let go without an answer when its question expires', async () => {
    const parked = new ParkedCalls();
    const waiting = parked.add('n', {} as RunningCall, 'alice', 1);
    await expect(waiting).resolves.toBeUndefined();
    expect(parked.answer('n', [])).toBe(false);
  });
});
