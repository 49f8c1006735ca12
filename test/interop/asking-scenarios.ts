// What clients go through with the tools of server-everything that ask in the middle of a call. The
// agent is named `everything`.

import { expect, it } from 'vitest';
import type { Answers } from './clients/line-protocol.ts';
import type { Driver, ToolResult } from './driver.ts';

const ELICIT = { agent_id: 'everything', capability: 'trigger-elicitation-request' };

const accepts = (name: string) => ({ action: 'accept', content: { name, check: true } }) as const;

/** For a client that goes through `itIsAsked`. */
export function answers(): Answers {
  return {
    elicitation: [accepts('Ada'), { action: 'decline' }, accepts('Grace')],
    sampling: [{ role: 'assistant', model: 'atlas-1', content: { type: 'text', text: 'Paris' } }],
  };
}

/** For a client that declared elicitation and sampling. */
export function itIsAsked(connected: () => Driver): void {
  it('[G1] is asked by its own protocol, and the agent receives what it accepts', async () => {
    const driver = connected();
    const answer = await driver.call('everything.trigger-elicitation-request');
    expect(textOf(answer)).toContain('- Name: Ada\n- Agreed to terms: true');
    expect(driver.asked.at(-1)).toMatchObject({
      method: 'elicitation/create',
      params: {
        message: 'Please provide inputs for the following fields:',
        requestedSchema: { required: ['name'], properties: { name: { type: 'string' } } },
      },
    });
  });

  it('[G1] declines, and the agent receives that', async () => {
    const answer = await connected().call('everything.trigger-elicitation-request');
    expect(textOf(answer)).toContain('User declined');
    expect(textOf(answer)).toContain('"action": "decline"');
  });

  it('[G1] is asked for an answer of its model', async () => {
    const driver = connected();
    const given = { prompt: 'The capital of France?', maxTokens: 20 };
    const answer = await driver.call('everything.trigger-sampling-request', given);
    expect(textOf(answer)).toContain('"text": "Paris"');
    expect(textOf(answer)).toContain('"model": "atlas-1"');
    expect(driver.asked.at(-1)).toMatchObject({
      method: 'sampling/createMessage',
      params: {
        maxTokens: 20,
        messages: [{ content: { text: expect.stringContaining(given.prompt) } }],
      },
    });
  });

  it('[G1] is asked by fabric.call too', async () => {
    const driver = connected();
    const before = driver.asked.length;
    const answer = await driver.call('fabric.call', ELICIT);
    expect(answer.structuredContent).toMatchObject({
      ok: true,
      result: { answer: expect.stringContaining('- Name: Grace') },
    });
    expect(driver.asked).toHaveLength(before + 1);
  });
}

/** For a client that declared nothing. */
export function itGoesOnWithInputs(connected: () => Driver): void {
  it.each([
    ['accept', accepts('Ada'), '- Name: Ada'],
    ['decline', { action: 'decline' }, 'User declined'],
  ] as const)('[G1] receives INPUT_REQUIRED and goes on: %s', async (_, response, expected) => {
    const driver = connected();
    const first = await driver.call('fabric.call', ELICIT);
    expect(first).toMatchObject({
      isError: true,
      structuredContent: {
        ok: false,
        error: {
          code: 'INPUT_REQUIRED',
          details: {
            inputs: [{ kind: 'form', schema: { required: ['name'] } }],
            conversation_id: expect.any(String),
          },
        },
      },
    });
    const { conversation_id, inputs } = openQuestion(first);
    const goOn = { conversation_id, inputs: inputs.map(({ id }) => ({ id, response })) };
    const second = await driver.call('fabric.call', { ...ELICIT, ...goOn });
    expect(second.structuredContent).toMatchObject({
      ok: true,
      result: { answer: expect.stringContaining(expected) },
    });
    expect(driver.asked).toEqual([]);
  });
}

function textOf({ content }: ToolResult): string {
  return content.map(({ text }) => text).join('\n');
}

function openQuestion({ structuredContent }: ToolResult) {
  const { error } = structuredContent as {
    error: { details: { conversation_id: string; inputs: { id: string }[] } };
  };
  return error.details;
}
