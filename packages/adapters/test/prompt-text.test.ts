import { capabilitySchema, type Envelope, readTask, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { toMessage as toA2aMessage } from '../../a2a/src/client/message.ts';
import { toPromptBlocks } from '../src/agent-client-protocol/open-turn.ts';
import { toMessage } from '../src/agent-communication-protocol/messages.ts';
import type { ProfileCall } from '../src/http/profile.ts';
import { toInputParts } from '../src/http/profiles/shared.ts';
import { toSources } from '../src/http/template/build-request.ts';
import { toPrompt } from '../src/upstream/prompt-text.ts';

const WAYS: Readonly<Record<string, (envelope: Envelope) => unknown>> = {
  'the HTTP profiles of models': ({ input }) => toInputParts(input),
  'editor agents': ({ input }) => toPromptBlocks(input, capabilitySchema.parse({ name: 'x' }), {}),
  'AG-UI': ({ input }) => readTask(input),
  'command lines and Agent Zero': ({ input }) => toPrompt(input),
  'the Agent Communication Protocol': ({ input }) => toMessage(input),
  A2A: (envelope) => toA2aMessage(envelope, 'x', {}),
  'requests by a template': (envelope) => {
    const context = { signal: new AbortController().signal, log: silentLog };
    return toSources({ envelope, context } as ProfileCall);
  },
};

describe.each(Object.entries(WAYS))('a prompt for %s', (_, write) => {
  it.each([{}, { arguments: { days: 3 } }])(
    'has the context of the caller, and none of the gateway: %o',
    (given) => {
      const ours = { 'io.starloom/a2a': { message_id: 'm' }, 'io.starloom/other': 'ours' };
      const input = { task: 'look', context: { city: 'Rome', ...ours }, ...given };
      const text = JSON.stringify(write(exampleEnvelope('', { input })));
      expect(text).toContain('Rome');
      expect(text).not.toMatch(/io\.starloom\/(?:a2a|other)/);
    },
  );
});

describe('the words of a call', () => {
  it.each([
    ['the task', {}, 'look', {}],
    ['the argument "prompt"', { prompt: 'go', days: 3 }, 'go', { days: 3 }],
    ['the argument "task"', { task: 'go', days: 3 }, 'go', { days: 3 }],
    ['the task beside arguments of other names', { days: 3 }, 'look', { days: 3 }],
    ['the task where the argument is no text', { task: { id: 1 } }, 'look', { task: { id: 1 } }],
  ])('are %s, and nothing is dropped', (_, given, text, rest) => {
    const { input } = exampleEnvelope('', { input: { task: 'look', arguments: given } });
    expect(readTask(input)).toEqual({ text, rest });
  });
});
