// What an operator sees of a document before it becomes an agent, and where its calls will go.

import { FabricError } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { type Fields, isMap, type OpenApiDocument } from './document.ts';
import { type DocumentPlace, isAddress, type LoadContext, loadDocument } from './load-document.ts';

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
  const info = isMap(document.root.info) ? document.root.info : {};
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
  return servers.filter(isMap).flatMap(({ url, variables }) => {
    return typeof url === 'string' ? [withDefaults(url, isMap(variables) ? variables : {})] : [];
  });
}

function withDefaults(url: string, variables: Fields): string {
  return url.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const { default: value } = isMap(variable) ? variable : { default: undefined };
    return typeof value === 'string' ? value : '';
  });
}

function serverNeeded(why: string, named: string | undefined): FabricError {
  const shown = named !== undefined && isAddress(named) ? cleanText(named, 200) : undefined;
  return new FabricError('BAD_INPUT', `The OpenAPI document ${why}: say where calls go`, {
    details: {
      reason: 'server_needed',
      ...(shown !== undefined && { server: shown }),
      fix: `add --server ${shown ?? '<url>'}, if calls and credentials may go there`,
    },
  });
}
