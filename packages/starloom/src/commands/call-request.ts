import { type Attachment, FabricError, type GivenInput, type InputRequest } from '@starloom/core';
import { answerCommand } from '../ask/answers.ts';
import type { CallCommandOptions } from './call.ts';
import type { Target } from './target.ts';

export interface Asked {
  readonly agentId: string;
  readonly capability: string;
  readonly inputs: readonly InputRequest[];
  /** `undefined` when the agent could not wait. */
  readonly conversationId: string | undefined;
}

export function toRequest(
  { agentId, capability, rest }: Target,
  options: CallCommandOptions,
  attachments: readonly Attachment[],
): Readonly<Record<string, unknown>> {
  const given = { ...options.args, ...options.arg };
  const task = rest.join(' ');
  return {
    ...(agentId && { agent_id: agentId }),
    capability,
    task,
    ...(Object.keys(given).length > 0 && { arguments: task ? { task, ...given } : given }),
    ...(options.context && { context: options.context }),
    ...(attachments.length > 0 && { attachments }),
    ...(options.conversation && { conversation_id: options.conversation }),
    ...(options.async && { async: true }),
    ...(options.key !== undefined && { idempotency_key: options.key }),
    ...boundsOf(options),
  };
}

/** The call that brings the answers; what was asked for at first is kept in the conversation. */
export function toAnswering(
  { agentId, capability, conversationId }: Asked,
  inputs: readonly GivenInput[],
  options: CallCommandOptions,
): Readonly<Record<string, unknown>> {
  const target = { agent_id: agentId, capability };
  return { ...target, conversation_id: conversationId, inputs, ...boundsOf(options) };
}

function boundsOf({ timeout, deadline, format, stream }: CallCommandOptions) {
  return {
    ...(timeout && { timeout_ms: timeout }),
    ...(deadline && { deadline_ms: deadline }),
    ...(format && { format }),
    stream: stream === true,
  };
}

export function askedIn(error: unknown, { agentId, capability }: Target): Asked | undefined {
  if (!FabricError.is(error) || error.code !== 'INPUT_REQUIRED') return undefined;
  const { inputs, conversation_id, agent_id = agentId } = error.details;
  if (!Array.isArray(inputs)) return undefined;
  return {
    agentId: String(agent_id ?? ''),
    capability,
    inputs,
    conversationId: typeof conversation_id === 'string' ? conversation_id : undefined,
  };
}

/** A conversation under a name that a person can type. */
export type Shorten = (agentId: string, conversationId: string) => Promise<string>;

/** With the command that goes on, for people. */
export async function withAnswerCommand(thrown: unknown, asked: Asked, shorten: Shorten) {
  const { code, message, details, cause } = FabricError.from(thrown);
  const { conversationId: id, inputs, ...target } = asked;
  if (id === undefined) return thrown;
  const conversationId = await shorten(target.agentId, id);
  const command = answerCommand({ ...target, conversationId }, inputs);
  const fix = `answer with this command, or with --input <id>=/decline\n    ${command}`;
  return new FabricError(code, message, { details: { ...details, fix }, cause });
}
