// What the fixtures ask their callers for.

import { type InputRequest, inputRequired } from '@modelcontextprotocol/server';

type FormSchema = Parameters<typeof inputRequired.elicit>[0]['requestedSchema'];

export const NAME = { name: { type: 'string' } } as const;
export const OK = { ok: { type: 'boolean' } } as const;

/** A form with these fields, all required. */
export function form(message: string, properties: Record<string, unknown>): InputRequest {
  const required = Object.keys(properties);
  const requestedSchema = { type: 'object', properties, required } as FormSchema;
  return inputRequired.elicit({ message, requestedSchema });
}

/** A form that may be left empty. */
export function optionalForm(message: string, properties: Record<string, unknown>): InputRequest {
  const requestedSchema = { type: 'object', properties, required: [] } as FormSchema;
  return inputRequired.elicit({ message, requestedSchema });
}

export function sample(prompt: string, maxTokens: number): InputRequest {
  const content = { type: 'text', text: prompt } as const;
  return inputRequired.createMessage({ messages: [{ role: 'user', content }], maxTokens });
}
