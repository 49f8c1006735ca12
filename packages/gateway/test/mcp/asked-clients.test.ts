import { type Envelope, FabricError } from '@starloom/core';
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

describe('clients that can be asked', () => {
  it('are told as a protocol error that the agent cannot ask them', async () => {
    const run = refuses(MISSING_CAPABILITY, 'missing_client_capability');
    await using gateway = await openTestGateway({ percy: { run } });
    const { status, answer } = await callTool(gateway.url, 'percy.work');
    expect(answer.error).toEqual(MISSING_CAPABILITY);
    expect(status).toBe(400);
  });

  it('are told as a protocol error that the agent refuses what they brought back', async () => {
    const run = refuses(REFUSED_STATE, 'invalid_params');
    await using gateway = await openTestGateway({ percy: { run } });
    const answered = { inputResponses: { name: { action: 'accept', content: {} } } };
    const first = await callTool(gateway.url, 'percy.work');
    expect(first.answer.result).toMatchObject({ isError: true });
    const second = await callTool(gateway.url, 'percy.work', { requestState: 'x', ...answered });
    expect(second.answer.error).toEqual(REFUSED_STATE);
  });

  it('reach the agent with their answers, their state and what they can do', async () => {
    const seen: Envelope[] = [];
    const run: MemoryAgent = async function* (envelope) {
      seen.push(envelope);
      yield { type: 'final', data: { answer: 'ok' } };
    };
    await using gateway = await openTestGateway({ percy: { run } });
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } };
    await callTool(gateway.url, 'percy.work', {
      requestState: 'kept',
      inputResponses,
      _meta: CAN_BE_ASKED,
    });
    expect(seen[0]?.input.relay).toMatchObject({
      requestState: 'kept',
      inputResponses,
      envelope: CAN_BE_ASKED,
    });
  });
});
