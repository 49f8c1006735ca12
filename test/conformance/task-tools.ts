// The tools with which the suite tests the Tasks extension. To the agent they are ordinary tools that
// take their time: it is the gateway that makes tasks of their calls.

import { setTimeout as pause } from 'node:timers/promises';
import {
  acceptedContent,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { Capability } from '@starloom/core';
import { z } from 'zod';
import { type FixtureTool, fixtureTool, text } from './fixture-tool.ts';
import { form, NAME } from './questions.ts';

const namedSchema = z.object({ name: z.string() });
const CONFIRM = { confirm: { type: 'boolean' } };
const SECOND_MS = 1_000;
/** The gateway waits so long for a question, before it makes a task of the call. */
const QUESTION_MS = 2_000;

/** How the gateway treats them; those that are not here never become tasks. */
export const TASK_SUPPORT: Readonly<Record<string, NonNullable<Capability['tasks']>>> = {
  slow_compute: { support: 'optional', after_ms: 0 },
  failing_job: { support: 'required', after_ms: 0 },
  protocol_error_job: { support: 'optional', after_ms: 0 },
  confirm_delete: { support: 'optional', after_ms: 0 },
  multi_input: { support: 'optional', after_ms: 0 },
  test_tool_with_task: { support: 'required', after_ms: QUESTION_MS },
};

export const taskTools: readonly FixtureTool[] = [
  fixtureTool('greet', 'Greets at once', ({ name }) => text(`Hello, ${name}!`)),
  fixtureTool('slow_compute', 'Takes as long as it is asked to', async (given, { mcpReq }) => {
    const { seconds = 0, label = '' } = given;
    await pause(Number(seconds) * SECOND_MS, undefined, { signal: mcpReq.signal });
    return text(`Computed ${label} in ${seconds} s`);
  }),
  fixtureTool('failing_job', 'Answers with an error after a second', async () => {
    await pause(SECOND_MS);
    return { ...text('The job failed'), isError: true };
  }),
  fixtureTool('protocol_error_job', 'Has no answer but a protocol error', () => {
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'The job broke');
  }),
  fixtureTool('confirm_delete', 'Asks before it deletes', ({ filename }, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'confirm');
    if (answer.kind === 'elicit') return text(`${filename}: ${answer.action}`);
    return inputRequired({ inputRequests: { confirm: form(`Delete ${filename}?`, CONFIRM) } });
  }),
  fixtureTool('multi_input', 'Asks two things at once', (_, { mcpReq }) => {
    const first = inputResponse(mcpReq.inputResponses, 'first');
    const second = inputResponse(mcpReq.inputResponses, 'second');
    if (first.kind === 'elicit' && second.kind === 'elicit') return text('Both were answered');
    const inputRequests = { first: form('First?', NAME), second: form('Second?', NAME) };
    return inputRequired({ inputRequests });
  }),
  fixtureTool('test_tool_with_task', 'Asks at once, then takes its time', async (_, { mcpReq }) => {
    const user = acceptedContent(mcpReq.inputResponses, 'user_name', namedSchema);
    if (!user) {
      return inputRequired({ inputRequests: { user_name: form('What is your name?', NAME) } });
    }
    await pause(QUESTION_MS + SECOND_MS, undefined, { signal: mcpReq.signal });
    return text(`Worked for ${user.name}`);
  }),
];
