// An agent of the current revision answers a call with what it needs to know (`input_required`), and
// is called again with the answers. An older client does not know that: it is asked here.

import { isInputRequiredResult, type RequestId, type Server } from '@modelcontextprotocol/server';
import { FabricError } from '@starloom/core';
import type { ToolResult } from '../pipeline/respond.ts';
import { askClient, canAsk } from './ask-client.ts';

type Params = Record<string, unknown>;

export interface InputsOptions {
  readonly server: Server;
  readonly requestId: RequestId;
  readonly signal: AbortSignal;
}

/** How often an agent may ask in one call. */
export const MAX_ROUNDS = 100;

/** Runs a call until its result is one, with what the client answers in between. */
export async function answerInputs(
  run: (answered: Params) => Promise<ToolResult>,
  options: InputsOptions,
): Promise<ToolResult> {
  let result = await run({});
  for (let round = 0; isInputRequiredResult(result); round += 1) {
    if (round === MAX_ROUNDS) return failed(`the agent asked more than ${MAX_ROUNDS} times`);
    const { inputRequests = {}, requestState } = result as Params;
    const asked = Object.entries(inputRequests as Record<string, Params>);
    const refused = asked.find(([, { method }]) => !canAsk(options.server, String(method)));
    if (refused) return failed(`the client does not answer ${String(refused[1].method)}`);
    try {
      const inputResponses = await askAll(asked, options);
      result = await run({ inputResponses, ...(requestState !== undefined && { requestState }) });
    } catch (error) {
      if (options.signal.aborted) throw error;
      return failed(FabricError.from(error).message);
    }
  }
  return result;
}

/** One that fails ends the others. */
async function askAll(asked: readonly [string, Params][], options: InputsOptions): Promise<Params> {
  const { server, requestId, signal: parent } = options;
  const control = new AbortController();
  const signal = AbortSignal.any([parent, control.signal]);
  try {
    const answers = asked.map(async ([key, question]) => [
      key,
      await askClient(server, question as never, { requestId, signal }),
    ]);
    return Object.fromEntries(await Promise.all(answers));
  } finally {
    control.abort();
  }
}

function failed(why: string): ToolResult {
  const text = `The agent needs an answer that it did not get: ${why}`;
  return { isError: true, content: [{ type: 'text', text }] };
}
