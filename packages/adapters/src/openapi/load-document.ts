// Where a document is read from: a file that the operator names, or an address that the operator
// names. Credentials of the agent go to the agent's own origin alone.

import { readSource } from '@starloom/config';
import {
  type CallContext,
  type ErrorDetails,
  FabricError,
  type Fields,
  isObject,
  type Log,
  type Manifest,
  manifestSchema,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { HttpClient } from '../http/http-client.ts';
import { JsonRequests } from '../http/json-requests.ts';
import { httpOptionsSchema } from '../http/options.ts';
import { failure } from '../reasons.ts';
import { badDocument, OpenApiDocument, parseOpenApi } from './document.ts';

const MAX_BYTES = 16 * 1024 * 1024;

export interface DocumentPlace {
  /** An http or https address, or the path of a file. */
  readonly document: string;
  /** Where relative paths begin. */
  readonly baseFolder: string;
  /** For the address of the document, where it is at the origin of the agent. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface LoadContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly names: ErrorDetails;
}

export async function loadDocument(
  { document, baseFolder, headers }: DocumentPlace,
  context: LoadContext,
): Promise<OpenApiDocument> {
  if (isAddress(document)) return fetchDocument(document, headers, context);
  const source = await readSource(document, { cwd: baseFolder }).catch((cause: unknown) => {
    throw badDocument('cannot be read', 'correct options.document of the agent', cause);
  });
  return new OpenApiDocument(source.value);
}

function isAddress(document: string): boolean {
  return /^https?:\/\//i.test(document);
}

async function fetchDocument(
  uri: string,
  headers: DocumentPlace['headers'],
  context: LoadContext,
): Promise<OpenApiDocument> {
  const manifest = toReader(uri, headers);
  const options = httpOptionsSchema.parse({ max_result_bytes: MAX_BYTES });
  const client = new HttpClient(manifest, options);
  try {
    const request = { method: 'GET', path: client.target.path };
    const value = await new JsonRequests(client, context).json(request, { texts: true });
    return typeof value === 'string' ? await parseOpenApi(value, uri) : new OpenApiDocument(value);
  } catch (error) {
    if (error === context.signal.reason) throw error;
    throw FabricError.from(error).with(context.names);
  } finally {
    await client.close();
  }
}

/** A manifest for the one request. */
function toReader(uri: string, headers: DocumentPlace['headers']): Manifest {
  const endpoint = { transport: 'http' as const, uri, ...(headers && { headers: { ...headers } }) };
  return manifestSchema.parse({ agent_id: 'document', endpoint });
}

/** Nothing of the call itself was sent when its document could not be had. */
export function toUnsent(error: unknown, signal: CallContext['signal']): FabricError {
  const failure = FabricError.from(error);
  if (error === signal.reason) return failure;
  const { code, message, details, cause } = failure;
  return new FabricError(code, message, { details: { ...details, sent: false }, cause });
}

/**
 * What an operator sees of a document before it becomes an agent, and where its calls will go.
 */
export interface InspectedDocument {
  readonly title: string | undefined;
  /** The address that calls go to. */
  readonly server: string;
}

/**
 * Reads the document and chooses its server: the one given, else one of the origin that the document
 * itself is from. BAD_INPUT when there is none: a document does not send us to other hosts.
 */
export async function inspectOpenApi(
  place: DocumentPlace & { readonly server?: string | undefined },
  context: LoadContext,
): Promise<InspectedDocument> {
  const document = await loadDocument(place, context);
  const info = toFields(document.root.info);
  return { title: cleanText(info.title, 64), server: serverOf(document, place) };
}

function serverOf(
  document: OpenApiDocument,
  place: { readonly document: string; readonly server?: string | undefined },
): string {
  const named = serversOf(document);
  if (place.server !== undefined) return place.server;
  if (!isAddress(place.document)) throw serverNeeded('is a file', named[0]);
  const { origin } = new URL(place.document);
  const addresses = named
    .map((url) => URL.parse(url, place.document))
    .filter((url) => url !== null);
  const own = addresses.find((url) => url.origin === origin && url.username === '');
  if (own) return own.href;
  throw serverNeeded('names servers of other origins', addresses[0]?.href);
}

/** Without any, the root of where the document is. */
function serversOf({ root }: OpenApiDocument): string[] {
  const { servers } = root;
  if (!Array.isArray(servers) || servers.length === 0) return ['/'];
  return servers.filter(isObject).flatMap(({ url, variables }) => {
    return typeof url === 'string' ? [withDefaults(url, toFields(variables))] : [];
  });
}

function withDefaults(url: string, variables: Fields): string {
  return url.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const { default: value } = toFields(variable);
    return typeof value === 'string' ? value : '';
  });
}

function serverNeeded(why: string, named: string | undefined): FabricError {
  const shown = named !== undefined && isAddress(named) ? cleanText(named, 200) : undefined;
  return failure('server_needed', { problem: why, server: shown, address: shown ?? '<url>' });
}
