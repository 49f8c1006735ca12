// Tools that need input in the way of the current revision: a result that asks, and a second request
// that brings the answers. State between the two goes through the client, signed.

import { randomBytes } from 'node:crypto';
import {
  acceptedContent,
  createRequestStateCodec,
  type InputRequests,
  inputRequired,
  inputResponse,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { declaredCapabilities } from './declared-capabilities.ts';
import { type FixtureTool, fixtureTool, text } from './fixture-tool.ts';
import { form, NAME, OK, sample } from './questions.ts';

const namedSchema = z.object({ name: z.string() });
const confirmedSchema = z.object({ ok: z.boolean() });
const colourSchema = z.object({ color: z.string() });
const stepSchema = z.object({ step: z.number(), name: z.string().optional() });

/** Refuses whatever this process did not sign itself. */
export const requestState = createRequestStateCodec({ key: randomBytes(32) });

export const inputRequiredTools: readonly FixtureTool[] = [
  fixtureTool('test_input_required_result_elicitation', 'Asks for a name', (_, { mcpReq }) => {
    const user = acceptedContent(mcpReq.inputResponses, 'user_name', namedSchema);
    if (user) return text(`Hello, ${user.name}!`);
    return inputRequired({ inputRequests: { user_name: form('What is your name?', NAME) } });
  }),
  fixtureTool('test_input_required_result_sampling', 'Asks a model', (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'capital_question');
    if (answer.kind === 'sampling') return text(JSON.stringify(answer.result.content));
    const capital_question = sample('What is the capital of France?', 100);
    return inputRequired({ inputRequests: { capital_question } });
  }),
  fixtureTool('test_input_required_result_list_roots', 'Asks for roots', (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'client_roots');
    if (answer.kind === 'roots') return text(answer.roots.map(({ uri }) => uri).join(', '));
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  }),
  confirmation('test_input_required_result_request_state'),
  confirmation('test_input_required_result_tampered_state'),
  fixtureTool('test_input_required_result_multiple_inputs', 'Asks three things', severalInputs),
  fixtureTool('test_input_required_result_multi_round', 'Asks twice', twoRounds),
  fixtureTool(
    'test_input_required_result_capabilities',
    'Asks only what the client can answer',
    async (_, context) => {
      const given = Object.keys(context.mcpReq.inputResponses ?? {});
      if (given.length > 0) return text(`received ${given.join(', ')}`);
      const { elicitation, sampling } = declaredCapabilities(context);
      if (!elicitation && !sampling) return text('The client can answer nothing');
      return await asking({
        ...(elicitation && { value: form('Any value?', { value: { type: 'string' } }) }),
        ...(sampling && { sample: sample('Say something', 50) }),
      });
    },
  ),
];

function confirmation(name: string): FixtureTool {
  return fixtureTool(name, 'Asks to confirm, and keeps state meanwhile', async (_, { mcpReq }) => {
    const confirmed = acceptedContent(mcpReq.inputResponses, 'confirm', confirmedSchema);
    if (confirmed && mcpReq.requestState() !== undefined) return text(`state-ok: ${confirmed.ok}`);
    return await asking({ confirm: form('Please confirm', OK) });
  });
}

async function severalInputs(_: unknown, { mcpReq }: ServerContext) {
  const user = acceptedContent(mcpReq.inputResponses, 'user_name', namedSchema);
  const greeting = inputResponse(mcpReq.inputResponses, 'greeting');
  const roots = inputResponse(mcpReq.inputResponses, 'client_roots');
  if (user && greeting.kind === 'sampling' && roots.kind === 'roots') {
    return text(`${user.name}: ${JSON.stringify(greeting.result.content)}, ${roots.roots.length}`);
  }
  return await asking({
    user_name: form('What is your name?', NAME),
    greeting: sample('Generate a greeting', 50),
    client_roots: inputRequired.listRoots(),
  });
}

async function twoRounds(_: unknown, { mcpReq }: ServerContext) {
  const { data: kept } = stepSchema.safeParse(mcpReq.requestState());
  if (kept?.step === 2) {
    const second = acceptedContent(mcpReq.inputResponses, 'step2', colourSchema);
    if (second) return text(`${kept.name} likes ${second.color}`);
  }
  const first = acceptedContent(mcpReq.inputResponses, 'step1', namedSchema);
  if (kept?.step === 1 && first) {
    const step2 = form('Step 2: What is your favorite color?', { color: { type: 'string' } });
    return await asking({ step2 }, { step: 2, name: first.name });
  }
  return await asking({ step1: form('Step 1: What is your name?', NAME) }, { step: 1 });
}

async function asking(inputRequests: InputRequests, kept: object = { step: 1 }) {
  return inputRequired({ inputRequests, requestState: await requestState.mint(kept) });
}
