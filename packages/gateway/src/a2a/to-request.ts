// A message as a call: which capability of which agent, with what.

import type { Message } from '@a2a-js/sdk';
import { CONTEXT_KEY, META_CAPABILITY, META_SKILL } from '@starloom/a2a';
import { assertModes, attachmentsOf, dataOf, modesOf, textOf } from '@starloom/a2a/tasks';
import {
  type AgentRecord,
  argumentsFromTask,
  type Capability,
  FabricError,
  findCapability,
} from '@starloom/core';
import { manifestChanged } from '../pinning/review.ts';
import type { CallRequest } from '../pipeline/call-request.ts';
import { heldAs } from '../pipeline/route.ts';
import { type Scope, splitSkill } from './scope.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What an earlier task of the context called. */
export interface Before {
  readonly agentId: string;
  readonly capability: string;
  readonly conversation_id?: string | undefined;
}

const MAX_NAMED = 100;
/** `details.reason` of a message that calls nothing that is known. */
export const NO_CAPABILITY = 'capability';

export function toCallRequest(
  message: Message,
  metadata: Fields,
  contextId: string,
  scope: Scope,
  before: Before | undefined,
): CallRequest {
  if (message.parts.length === 0) throw badMessage('The message has no parts');
  const { skill, data } = readData(message);
  const asked = metadata[META_CAPABILITY] ?? metadata[META_SKILL] ?? skill;
  const { record, capability } = choose(asked, scope, before);
  assertModes(message, modesOf(capability));
  const task = textOf(message);
  const { agent_id } = record.manifest;
  return {
    agent_id,
    capability: capability.name,
    task,
    ...(data && { arguments: withText(data, task, capability) }),
    context: { [CONTEXT_KEY]: toContext(message, contextId) },
    attachments: attachmentsOf(message),
    stream: true,
    format: 'text',
    ...(before?.agentId === agent_id && { conversation_id: before.conversation_id }),
  };
}

/** A data part that names its skill has the arguments under a key of their own. */
function readData(message: Message): { readonly skill?: unknown; readonly data?: Fields } {
  const data = dataOf(message);
  if (data === undefined) return {};
  const { skill, arguments: given, ...rest } = data;
  if (typeof skill !== 'string' || Object.keys(rest).length > 0) return { data };
  if (given === undefined) return { skill };
  if (typeof given === 'object' && given !== null) return { skill, data: { ...given } };
  throw badMessage('The arguments of a skill are an object');
}

function choose(asked: unknown, scope: Scope, before: Before | undefined) {
  if (asked !== undefined && typeof asked !== 'string') {
    throw badMessage(`metadata["${META_CAPABILITY}"] must be a text`);
  }
  const named = asked === undefined ? (before ?? onlyOne(scope)) : splitSkill(scope, asked);
  const record = named && scope.agents.get(named.agentId);
  const capability = record && findCapability(record, named.capability);
  const held = record && heldAs(record, named.capability);
  if (record && held) throw manifestChanged(record.manifest.agent_id, held);
  if (!record || !capability) throw noSuchSkill(asked, scope);
  return { record, capability };
}

function onlyOne(scope: Scope): Before | undefined {
  const [record, ...others] = scope.records();
  const [capability, ...more] = record?.capabilities ?? [];
  if (!record || !capability || others.length > 0 || more.length > 0) return undefined;
  return { agentId: record.manifest.agent_id, capability: capability.name };
}

/** The text takes the place that it would have without data, unless the data has it already. */
function withText(data: Fields, task: string, { input_schema }: Capability) {
  const { properties } = input_schema ?? {};
  if (task === '' || typeof properties !== 'object') return { ...data };
  return { ...argumentsFromTask({ task, context: {} }, input_schema), ...data };
}

function toContext({ messageId, referenceTaskIds, metadata }: Message, contextId: string) {
  return {
    message_id: messageId,
    context_id: contextId,
    ...(referenceTaskIds.length > 0 && { reference_task_ids: referenceTaskIds }),
    ...(metadata && { metadata }),
  };
}

function noSuchSkill(asked: unknown, scope: Scope): FabricError {
  const skills = scope.records().flatMap((record) => skillsOf(record, scope));
  const message =
    asked === undefined
      ? 'The message does not say which capability it asks for'
      : `There is no capability "${String(asked).slice(0, 100)}"`;
  return new FabricError('BAD_INPUT', message, {
    details: {
      reason: NO_CAPABILITY,
      capabilities: skills.slice(0, MAX_NAMED),
      fix: `name one in metadata["${META_CAPABILITY}"], or send a data part {skill, arguments}`,
    },
  });
}

function skillsOf({ manifest, capabilities }: AgentRecord, scope: Scope): string[] {
  return capabilities.map(({ name }) => scope.skillId(manifest.agent_id, name));
}

function badMessage(message: string): FabricError {
  return new FabricError('BAD_INPUT', message, { details: { reason: 'message' } });
}
