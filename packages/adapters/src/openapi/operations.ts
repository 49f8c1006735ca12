// The operations of a document, each as a capability and as a way to write its request. One that
// cannot be called safely, or at all, is left out with a reason.

import {
  type Capability,
  capabilitySchema,
  type Fields,
  isObject,
  toCapabilityName,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import type { OpenApiDocument } from './document.ts';
import { type OwnValues, type Parameter, parametersOf } from './parameters.ts';
import { type BodyPlace, bodyOf } from './to-request.ts';
import { SchemaBudget, SchemaBundle, Unsupported } from './to-schema.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
type OperationMethod = Uppercase<(typeof METHODS)[number]>;

export interface Operation {
  readonly capability: Capability;
  readonly method: OperationMethod;
  /** Fixed texts and parameters, in turn. */
  readonly path: readonly (string | Parameter)[];
  readonly parameters: readonly Parameter[];
  readonly body: BodyPlace | undefined;
}

interface LeftOut {
  readonly operation: string;
  readonly reason: string;
}

interface Operations {
  readonly operations: readonly Operation[];
  readonly leftOut: readonly LeftOut[];
}

const MAX_OPERATIONS = 500;
const MAX_NODES = 20_000;
const MAX_ALL_NODES = 400_000;
const MAX_DESCRIPTION = 4_096;

export function operationsOf(
  document: OpenApiDocument,
  { base, own }: { readonly base: string; readonly own: OwnValues },
): Operations {
  const operations = new Map<string, Operation>();
  const leftOut: LeftOut[] = [];
  const all = new SchemaBudget(MAX_ALL_NODES);
  for (const found of findOperations(document)) {
    const name = `${found.method.toUpperCase()} ${found.path}`.slice(0, 200);
    try {
      if (operations.size >= MAX_OPERATIONS) throw new Unsupported('there are too many before it');
      const operation = toOperation(document, found, { base, own }, all);
      const { capability } = operation;
      if (operations.has(capability.name)) throw new Unsupported('its name is taken');
      operations.set(capability.name, operation);
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error;
      leftOut.push({ operation: name, reason: error.message });
    }
  }
  return { operations: [...operations.values()], leftOut };
}

interface Found {
  readonly path: string;
  readonly method: (typeof METHODS)[number];
  readonly item: Fields;
  readonly operation: Fields;
}

function* findOperations(document: OpenApiDocument): Generator<Found, void, undefined> {
  for (const [path, value] of Object.entries(document.root.paths as Fields)) {
    const item = document.resolve(value);
    for (const method of METHODS) {
      const operation = item?.[method];
      if (item && isObject(operation)) yield { path, method, item, operation };
    }
  }
}

function toOperation(
  document: OpenApiDocument,
  { path, method, item, operation }: Found,
  { base, own }: { readonly base: string; readonly own: OwnValues },
  all: SchemaBudget,
): Operation {
  assertSameServer(operation.servers ?? item.servers, base);
  const bundle = new SchemaBundle(document, [all, new SchemaBudget(MAX_NODES)]);
  const parameters = parametersOf(document, item.parameters, operation.parameters, bundle, own);
  const body = bodyOf(document, operation.requestBody, bundle);
  const properties = Object.fromEntries([
    ...parameters.map(({ argument, schema }) => [argument, schema] as const),
    ...(body ? [['body', body.schema] as const] : []),
  ]);
  const required = [
    ...parameters.filter(({ isRequired }) => isRequired).map(({ argument }) => argument),
    ...(body?.isRequired ? ['body'] : []),
  ];
  const input_schema = {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...bundle.defs,
  };
  return {
    capability: toCapability(path, method, operation, input_schema),
    method: method.toUpperCase() as OperationMethod,
    path: splitPath(path, parameters),
    parameters,
    body,
  };
}

function toCapability(
  path: string,
  method: Found['method'],
  { operationId, summary, description }: Fields,
  input_schema: object,
): Capability {
  const id = typeof operationId === 'string' && operationId !== '' ? operationId : undefined;
  const named = `${method}${path.replaceAll(/[^A-Za-z0-9]+/g, '_').replace(/_$/, '')}`;
  const texts = [
    ...new Set([summary, description].map((text) => cleanText(text, MAX_DESCRIPTION))),
  ];
  const said = cleanText(texts.filter(Boolean).join('\n\n'), MAX_DESCRIPTION);
  return capabilitySchema.parse({
    name: toCapabilityName(id ?? named),
    tool: `${method.toUpperCase()} ${path}`,
    ...(said && { description: said }),
    annotations: {
      readOnlyHint: method === 'get',
      destructiveHint: method === 'delete',
      idempotentHint: IDEMPOTENT.has(method),
      openWorldHint: true,
    },
    input_schema,
    // As HTTP defines its methods: sent twice, the effect is that of once.
    idempotent: IDEMPOTENT.has(method),
  });
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['get', 'put', 'delete']);

/** What a document may write into a path by itself. */
const FIXED = /^[\w.~!$&'()*+,;=:@%/-]*$/;

function splitPath(path: string, parameters: readonly Parameter[]): (string | Parameter)[] {
  const pieces = path.split(/(\{[^{}]*\})/).filter((piece) => piece !== '');
  const isOwn = path.startsWith('/') && !path.startsWith('//');
  const fixed = pieces.filter((piece) => !piece.startsWith('{')).join('');
  if (!isOwn || !FIXED.test(fixed) || /(^|\/)(\.|%2e){1,2}(\/|$)/i.test(path)) {
    throw new Unsupported('its path leads elsewhere');
  }
  return pieces.map((piece) => {
    if (!piece.startsWith('{')) return piece;
    const name = piece.slice(1, -1);
    const parameter = parameters.find((each) => each.place === 'path' && each.name === name);
    if (parameter) return parameter;
    throw new Unsupported(`its path has "${name.slice(0, 64)}", which is no parameter`);
  });
}

/** Calls go to the address of the manifest: an operation that is elsewhere is not called there. */
function assertSameServer(servers: unknown, base: string): void {
  if (!Array.isArray(servers) || servers.length === 0) return;
  const isHere = servers.some((server) => {
    const { url } = toFields(server);
    const address = typeof url === 'string' ? URL.parse(url, base) : null;
    return address?.href.replace(/\/$/, '') === base.replace(/\/$/, '');
  });
  if (!isHere) throw new Unsupported('it has a server of its own');
}
