import { capabilitySchema, type Envelope, silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { toMessage as toA2aMessage } from '../src/a2a/message.ts';
import { toPromptBlocks } from '../src/agent-client-protocol/prompt-blocks.ts';
import { toMessage } from '../src/agent-communication-protocol/to-message.ts';
import { messageOf } from '../src/agent-zero/translate.ts';
import type { ProfileCall } from '../src/http/profile.ts';
import { toInputParts } from '../src/http/profiles/input-parts.ts';
import { toSources } from '../src/http/template/to-sources.ts';
import { splitTask, toPromptText } from '../src/upstream/prompt-text.ts';

const WAYS: Readonly<Record<string, (envelope: Envelope) => unknown>> = {
  'the HTTP profiles of models': ({ input }) => toInputParts(input),
  'editor agents': ({ input }) => toPromptBlocks(input, capabilitySchema.parse({ name: 'x' }), {}),
  'command lines': ({ input }) => toPromptText(input),
  'AG-UI': ({ input }) => splitTask(input),
  'Agent Zero': ({ input }) => messageOf(input),
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
