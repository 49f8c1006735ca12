import type { Envelope } from '@starloom/core';
import { isObject, type JsonObject } from './json-rpc.ts';

/**
 * What a tool is called with: the arguments of the envelope as they are, else its task and context
 * as far as the schema has a place for them. A tool without a `task` gets it as its one required
 * text, if there is exactly one.
 */
export function toToolArguments(input: Envelope['input'], schema: JsonObject = {}): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : undefined;
  const given = input.arguments ?? fromTask(input, schema, properties);
  const takesAttachments = properties !== undefined && Object.hasOwn(properties, 'attachments');
  if (!takesAttachments || input.attachments.length === 0) return given;
  return { attachments: input.attachments, ...given };
}

function fromTask(
  { task, context }: Envelope['input'],
  schema: JsonObject,
  properties: JsonObject | undefined,
): JsonObject {
  if (properties === undefined) {
    return schema.additionalProperties === false ? {} : { task, ...context };
  }
  const given = Object.entries({ task, ...context });
  const kept = Object.fromEntries(given.filter(([name]) => Object.hasOwn(properties, name)));
  if (Object.hasOwn(properties, 'task')) return kept;
  const texts = requiredTexts(schema, properties);
  const [only] = texts;
  return texts.length === 1 && only !== undefined ? { [only]: task, ...kept } : kept;
}

function requiredTexts(schema: JsonObject, properties: JsonObject): string[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return required.filter((name): name is string => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return isObject(property) && property.type === 'string';
  });
}
