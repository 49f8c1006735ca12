import {
  argumentsFromTask,
  type Envelope,
  FabricError,
  type Fields,
  isObject,
} from '@starloom/core';

/** What a tool is called with: the arguments of the envelope as they are, else what the task gives. */
export function toToolArguments(input: Envelope['input'], schema: Fields = {}): Fields {
  const { properties } = schema;
  const given = input.arguments ?? argumentsFromTask(input, schema);
  const takesAttachments = isObject(properties) && Object.hasOwn(properties, 'attachments');
  if (input.attachments.length === 0) return given;
  if (takesAttachments) return { attachments: input.attachments, ...given };
  throw new FabricError('BAD_INPUT', 'The agent takes no attachments with this capability', {
    details: {
      reason: 'attachments_unsupported',
      sent: false,
      fix: 'call without attachments, or use a capability whose schema has "attachments"',
    },
  });
}
