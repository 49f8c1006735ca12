// The tools of server-everything that ask in the middle of a call, with clients that can be asked
// and clients that cannot.

import { describeWithPeer } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTarget, type Transport } from './client-world.ts';
import type { Answers, Target } from './clients/line-protocol.ts';
import { CLIENTS_OF_BOTH_ERAS } from './clients.ts';
import { type Driver, openDriver, type ToolResult } from './driver.ts';
import { everythingAgent } from './real-agents.ts';

const ELICIT = { agent_id: 'everything', capability: 'trigger-elicitation-request' };

const STAND_FOR_OTHERS: ReadonlySet<string> = new Set(['TypeScript SDK v1', 'TypeScript SDK v2']);

const accepts = (name: string) => ({ action: 'accept', content: { name, check: true } }) as const;

/** In the order in which the tests below ask. */
const answers = (): Answers => ({
  elicitation: [accepts('Ada'), { action: 'decline' }, accepts('Grace')],
  sampling: [{ role: 'assistant', model: 'atlas-1', content: { type: 'text', text: 'Paris' } }],
});

describe.each<Transport>(['http', 'stdio'])('over %s', (transport) => {
  const world = new AsyncDisposableStack();
  let target: Target;

  beforeAll(async () => {
    const agents = [everythingAgent('everything')];
    const config = { telemetry: { log_level: 'warn' } };
    ({ target } = world.use(await openTarget[transport]({ agents, config })));
  });

  afterAll(() => world.disposeAsync());

  for (const client of CLIENTS_OF_BOTH_ERAS) {
    describeWithPeer(client.name, client.prepare, (path) => {
      const mode = client.mode ?? 'auto';
      const connect = (declared: { answers?: Answers }) =>
        openDriver(client.program(path), { ...target, name: 'interop', mode, ...declared });

      describe('that declares elicitation and sampling', () => {
        const stack = new AsyncDisposableStack();
        let driver: Driver;

        beforeAll(async () => {
          driver = stack.use(await connect({ answers: answers() }));
        });

        afterAll(() => stack.disposeAsync());

        it('[G1] is asked by its own protocol, and the agent receives what it accepts', async () => {
          expect(driver.protocolVersion).toBe(client.revision);
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
          const answer = await driver.call('everything.trigger-elicitation-request');
          expect(textOf(answer)).toContain('User declined');
          expect(textOf(answer)).toContain('"action": "decline"');
        });

        it('[G1] is asked for an answer of its model', async () => {
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
          const asked = driver.asked.length;
          const answer = await driver.call('fabric.call', ELICIT);
          expect(answer.structuredContent).toMatchObject({
            ok: true,
            result: { answer: expect.stringContaining('- Name: Grace') },
          });
          expect(driver.asked).toHaveLength(asked + 1);
        });
      });

      // Over stdio each connection starts a gateway: one client of each era stands for the others.
      if (transport === 'stdio' && !STAND_FOR_OTHERS.has(client.name)) return;
      it('[G1] receives INPUT_REQUIRED when it declared nothing, and goes on', async () => {
        await using driver = await connect({});
        for (const [response, expected] of [
          [accepts('Ada'), '- Name: Ada'],
          [{ action: 'decline' }, 'User declined'],
        ] as const) {
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
        }
        expect(driver.asked).toEqual([]);
      });
    });
  }
});

function textOf({ content }: ToolResult): string {
  return content.map(({ text }) => text).join('\n');
}

function openQuestion({ structuredContent }: ToolResult) {
  const { error } = structuredContent as {
    error: { details: { conversation_id: string; inputs: { id: string }[] } };
  };
  return error.details;
}
