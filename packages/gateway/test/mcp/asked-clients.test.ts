import { FabricError, type InputRequest } from '@starloom/core';
import type { MemoryAgent } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { openTestGateway } from '../test-gateway.ts';
import { callTool } from './raw-call.ts';

const REFUSED_STATE = { code: -32_602, message: 'Invalid or expired requestState' };
const MISSING_CAPABILITY = {
  code: -32_021,
  message: 'Missing required client capability',
  data: { requiredCapabilities: { sampling: {} } },
};

/** An agent that answers with this JSON-RPC error, as the MCP adapter tells it. */
const refuses = (rpc: { readonly code: number }, reason: string): MemoryAgent =>
  // biome-ignore lint/correctness/useYield: it fails before it says anything
  async function* () {
    throw new FabricError('BAD_INPUT', 'The agent refused', { details: { reason, rpc } });
  };

const CAN_BE_ASKED = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
const native = {
  method: 'elicitation/create',
  params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} }, extra: 1 },
};
const question: InputRequest = { id: 'name', kind: 'form', message: 'Name?', schema: {}, native };

/** Asks with a handle, and answers with what came back. */
const asks: MemoryAgent = async function* (_envelope, _signal, context) {
  const responses =
    context.responses ?? (await context.ask?.([question], { handle: { state: 'kept' } }));
  const data = { handle: context.handle, responses };
  yield { type: 'final', data: { answer: 'done', data } };
};

describe('clients that can be asked', () => {
  it('receive as a protocol error that the agent cannot ask them', async () => {
    const run = refuses(MISSING_CAPABILITY, 'missing_client_capability');
    await using gateway = await openTestGateway({ percy: { run } });
    const { status, answer } = await callTool(gateway.url, 'percy.work');
    expect(answer.error).toEqual(MISSING_CAPABILITY);
    expect(status).toBe(400);
  });

  it('receive the question as the agent wrote it, and the agent their answer as it came', async () => {
    await using gateway = await openTestGateway({ percy: { run: asks } });
    const first = await callTool(gateway.url, 'percy.work', { _meta: CAN_BE_ASKED });
    expect(first.answer.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { name: native },
    });
    const { requestState } = first.answer.result;
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' }, extra: 2 } };
    const again = { requestState, inputResponses, _meta: CAN_BE_ASKED };
    const second = await callTool(gateway.url, 'percy.work', again);
    expect(second.answer.result.structuredContent).toEqual({
      handle: { state: 'kept' },
      responses: [
        {
          id: 'name',
          action: 'accept',
          content: { name: 'Ada' },
          native: inputResponses.name,
        },
      ],
    });
    const third = await callTool(gateway.url, 'percy.work', again);
    expect(third.answer.error).toMatchObject({
      code: -32_602,
      data: { error: { details: { reason: 'no_open_question' } } },
    });
  });

  it('receive as a protocol error that the agent refuses what they brought back', async () => {
    const run: MemoryAgent = (envelope, signal, context) =>
      context.responses
        ? refuses(REFUSED_STATE, 'invalid_params')(envelope, signal, context)
        : asks(envelope, signal, context);
    await using gateway = await openTestGateway({ percy: { run } });
    const first = await callTool(gateway.url, 'percy.work', { _meta: CAN_BE_ASKED });
    const { requestState } = first.answer.result;
    const inputResponses = { name: { action: 'accept', content: {} } };
    const second = await callTool(gateway.url, 'percy.work', {
      requestState,
      inputResponses,
      _meta: CAN_BE_ASKED,
    });
    expect(second.answer.error).toEqual(REFUSED_STATE);
  });

  it('receive INPUT_REQUIRED when they declared too little to be asked', async () => {
    await using gateway = await openTestGateway({ percy: { run: asks } });
    const { answer } = await callTool(gateway.url, 'percy.work');
    expect(answer.result).toMatchObject({
      isError: true,
      _meta: { 'io.starloom/error': { error: { code: 'INPUT_REQUIRED' } } },
    });
    const details = answer.result._meta['io.starloom/error'].error.details;
    const goOn = await callTool(gateway.url, 'percy.work', {
      _meta: {
        'io.starloom/conversation': details.conversation_id,
        'io.starloom/inputs': [{ id: 'name', response: { action: 'decline' } }],
      },
    });
    expect(goOn.answer.result.structuredContent.responses).toEqual([
      { id: 'name', action: 'decline' },
    ]);
  });

  it('are asked by fabric.call as people, also when they declare no elicitation', async () => {
    const run: MemoryAgent = async function* (_envelope, _signal, { declared }) {
      yield { type: 'final', data: { answer: '', data: declared } };
    };
    await using gateway = await openTestGateway({ percy: { run } });
    const declaredIn = async (name: string, capabilities: object) => {
      const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
      const args = { agent_id: 'percy', capability: 'work' };
      const { answer } = await callTool(gateway.url, name, { arguments: args, _meta });
      const { structuredContent } = answer.result;
      const declared = structuredContent.result?.data ?? structuredContent;
      return declared['io.modelcontextprotocol/clientCapabilities'];
    };
    const people = { form: {}, url: {} };
    expect(await declaredIn('fabric.call', {})).toEqual({ elicitation: people });
    const own = { elicitation: {}, sampling: {} };
    expect(await declaredIn('fabric.call', own)).toEqual(own);
    expect(await declaredIn('percy.work', {})).toEqual({});
  });
});
