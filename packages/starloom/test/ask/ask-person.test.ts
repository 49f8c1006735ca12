import { FabricError, type InputRequest } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { askPerson } from '../../src/ask/answers.ts';
import { withoutPaint } from '../../src/terminal-text.ts';

/** A person who types these lines, one for each prompt. */
async function answer(question: Omit<InputRequest, 'id'>, ...lines: string[]) {
  const shown: string[] = [];
  const typed = [...lines];
  const terminal = {
    tell: (text: string) => void shown.push(withoutPaint(text)),
    ask: async (prompt: string) => {
      shown.push(withoutPaint(prompt));
      const line = typed.shift();
      if (line === undefined) throw new FabricError('CANCELLED', 'Ended at the terminal');
      return line;
    },
  };
  const [given] = await askPerson(terminal, 'coder', [{ id: 'q', ...question }]);
  return { response: given?.response, shown: shown.join('\n'), left: typed.length };
}

const FORM = {
  kind: 'form' as const,
  message: 'Which table?',
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 2 },
      seats: { type: 'integer', default: 2 },
      quiet: { type: 'boolean' },
    },
    required: ['name'],
  },
};

const CHOICE = {
  kind: 'choice' as const,
  message: 'May I?',
  options: [
    { id: 'allow-once', label: 'Allow' },
    { id: 'never', label: 'Never' },
  ],
};

describe('a person who is asked', () => {
  it('sees which agent asks, its words behind a bar, and nothing a terminal acts on', async () => {
    const message = 'Your name?\x1b[2J\nerror FORGED: pay now\u202e';
    const { response, shown } = await answer({ kind: 'text', message }, '', ' Ada ');
    expect(response).toEqual({ action: 'accept', content: { text: 'Ada' } });
    expect(shown).toContain('coder asks');
    expect(shown).toContain('  │ Your name?\n  │ error FORGED: pay now\n');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
    expect(shown).not.toMatch(/[\x1b\u202e]/);
  });

  it('fills in a form: defaults by Enter, optional fields left out, again what does not fit', async () => {
    const { response, shown } = await answer(FORM, 'A', '', 'Ada', '', '');
    expect(response).toEqual({ action: 'accept', content: { name: 'Ada', seats: 2 } });
    expect(shown).toMatch(/expected text, at least 2 characters/);
    expect(shown).toMatch(/this one is required/);
    expect(shown).toMatch(/seats \(whole number, optional, default 2\)/);
  });

  it.each([
    ['2', 'never'],
    ['allow-once', 'allow-once'],
    ['Allow', 'allow-once'],
  ])('chooses by number, id or name: %s', async (typed, choice) => {
    const { response } = await answer(CHOICE, '9', typed);
    expect(response).toEqual({ action: 'accept', content: { choice } });
  });

  it.each(['url', 'auth'] as const)(
    'visits a link without any secret in the answer: %s',
    async (kind) => {
      const link = { kind, message: 'Sign in', url: 'https://good.example@evil.example/x' };
      const { response, shown } = await answer(link, 'my password', '');
      expect(response).toEqual({ action: 'accept' });
      expect(shown).toContain('leads to evil.example');
      expect(shown).toContain('what you type here goes nowhere');
      expect((await answer(link, 'n')).response).toEqual({ action: 'decline' });
    },
  );

  it('is warned of a link that is no web address', async () => {
    const { shown } = await answer({ kind: 'url', message: '', url: 'file:///etc/passwd' }, '');
    expect(shown).toContain('no web address');
  });

  it.each([
    ['/decline', 'decline'],
    ['/cancel', 'cancel'],
  ])('does not answer: %s', async (typed, action) => {
    for (const question of [FORM, CHOICE, { kind: 'url' as const, message: '' }]) {
      expect((await answer(question, typed)).response).toEqual({ action });
    }
  });

  it('says yes or no to a form without fields', async () => {
    const confirm = { kind: 'form' as const, message: 'Delete it?', schema: { type: 'object' } };
    expect((await answer(confirm, '', 'y')).response).toEqual({ action: 'accept', content: {} });
    expect((await answer(confirm, 'no')).response).toEqual({ action: 'decline' });
  });

  it.each(['model', 'roots'] as const)('is not asked for a %s: that is declined', async (kind) => {
    const { response, shown } = await answer({ kind, message: 'x' });
    expect(response).toEqual({ action: 'decline' });
    expect(shown).toMatch(/declined: the command line/);
  });

  it('ends the call', async () => {
    await expect(answer(FORM)).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});
