import { argumentsFromTask, type Envelope } from '@starloom/core';
import { isObject, type JsonObject } from './json-rpc.ts';

/** What a tool is called with: the arguments of the envelope as they are, else what the task gives. */
export function toToolArguments(input: Envelope['input'], schema: JsonObject = {}): JsonObject {
  const { properties } = schema;
  const given = input.arguments ?? argumentsFromTask(input, schema);
  const takesAttachments = isObject(properties) && Object.hasOwn(properties, 'attachments');
  if (!takesAttachments || input.attachments.length === 0) return given;
  return { attachments: input.attachments, ...given };
}
