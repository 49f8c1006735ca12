// Questions to the client of a call in the words of MCP, and what clients answer. Where the agent that asks speaks
// MCP, too, its own request and the client's own answer pass as they are.

import {
  type Fields,
  type GivenInput,
  type InputRequest,
  type InputResponse,
  isObject,
} from '@starloom/core';

type Params = Readonly<Fields>;

interface Asked {
  readonly method: string;
  readonly params: Params;
}

/** A result that asks the client; `undefined` when it declared too little to be asked these. */
export function toInputRequired(
  inputs: readonly InputRequest[],
  conversationId: string,
  capabilities: Params,
) {
  const asked = inputs.map((input) => [input.id, toAsked(input)] as const);
  if (!asked.every(([, request]) => request && canBeAsked(request, capabilities))) return undefined;
  return {
    resultType: 'input_required',
    content: [],
    inputRequests: Object.fromEntries(asked),
    requestState: conversationId,
  };
}

/** The questions that this client can be asked. */
export function toInputRequests(inputs: readonly InputRequest[], capabilities: Params): Params {
  const asked = inputs.map((input) => [input.id, toAsked(input)] as const);
  return Object.fromEntries(
    asked.filter(([, request]) => request && canBeAsked(request, capabilities)),
  );
}

/** What a client brings back for such a result. */
export function toGivenInputs(inputResponses: unknown): GivenInput[] | undefined {
  if (!isObject(inputResponses)) return undefined;
  return Object.entries(inputResponses).map(([id, native]) => ({
    id,
    response: toResponse(native),
  }));
}

function toResponse(native: unknown): Omit<InputResponse, 'id'> {
  const { action, content } = isObject(native) ? native : {};
  if (action === 'decline' || action === 'cancel') return { action, native };
  return { action: 'accept', native, ...(content !== undefined && { content }) };
}

function toAsked({ kind, message, url, schema, options, native, id }: InputRequest) {
  if (isAsked(native)) return native;
  switch (kind) {
    case 'url':
    case 'auth':
      return url === undefined
        ? undefined
        : elicitation({ mode: 'url', message, url, elicitationId: id });
    case 'form':
      return elicitation({
        message,
        requestedSchema: { type: 'object', properties: {}, ...schema },
      });
    case 'text':
      return elicitation({ message, requestedSchema: oneField('text', { type: 'string' }) });
    case 'choice': {
      const choices =
        options?.map(({ id: value, label }) => ({ const: value, title: label })) ?? [];
      const choice = { type: 'string', oneOf: choices };
      return elicitation({ message, requestedSchema: oneField('choice', choice) });
    }
    case 'model':
    case 'roots':
      return undefined;
  }
}

function elicitation(params: Params): Asked {
  return { method: 'elicitation/create', params };
}

function oneField(name: string, property: Params): Params {
  return { type: 'object', properties: { [name]: property }, required: [name] };
}

function canBeAsked({ method, params }: Asked, capabilities: Params): boolean {
  if (method === 'sampling/createMessage') return isObject(capabilities.sampling);
  if (method === 'roots/list') return isObject(capabilities.roots);
  if (params.mode !== 'url') return showsForms(capabilities);
  return isObject(capabilities.elicitation) && isObject(capabilities.elicitation.url);
}

/** Whether the client shows its person a form; an empty `elicitation` means forms alone. */
export function showsForms({ elicitation: declared }: Params): boolean {
  return isObject(declared) && (isObject(declared.form) || !isObject(declared.url));
}

function isAsked(value: unknown): value is Asked {
  return isObject(value) && typeof value.method === 'string' && isObject(value.params);
}
