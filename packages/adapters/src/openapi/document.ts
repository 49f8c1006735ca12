// An OpenAPI document as it was read. It comes from elsewhere: references lead nowhere but into the
// document itself, and what is followed and copied of it is bounded.

import { parseSource } from '@starloom/config';
import { exceedsDepth, type FabricError, type Fields, isObject, toFields } from '@starloom/core';
import { parseUpstreamJson } from '@starloom/wire';
import { pointTo } from '../http/json-pointer.ts';
import { failure } from '../reasons.ts';

/** References that lead to references. */
const MAX_HOPS = 16;

export class OpenApiDocument {
  readonly root: Fields;
  /** Schemas of 3.0 are not yet JSON Schema. */
  readonly isOlder: boolean;

  /** UPSTREAM_ERROR for what is no OpenAPI 3 document. */
  constructor(value: unknown) {
    const root = toFields(value);
    const { openapi, swagger, paths } = root;
    if (swagger !== undefined) throw badDocument('is of version 2', 'convert it to OpenAPI 3');
    if (typeof openapi !== 'string' || !/^3\.\d+(\.|$)/.test(openapi)) {
      throw badDocument('is no OpenAPI 3 document', 'name the address of an OpenAPI document');
    }
    if (!isObject(paths)) throw badDocument('has no paths', 'name a document with operations');
    if (exceedsDepth(value)) throw badDocument('is nested too deep', 'simplify the document');
    this.root = root;
    this.isOlder = openapi.startsWith('3.0');
  }

  /** The object itself, where `value` is a reference; `undefined` when it leads nowhere here. */
  resolve(value: unknown): Fields | undefined {
    let current = value;
    for (let hop = 0; hop < MAX_HOPS; hop += 1) {
      if (!isObject(current)) return undefined;
      if (typeof current.$ref !== 'string') return current;
      current = this.at(current.$ref);
    }
    return undefined;
  }

  /** What a reference leads to, within this document. */
  at(reference: string): unknown {
    if (!reference.startsWith('#/')) return undefined;
    try {
      return pointTo(this.root, decodeURIComponent(reference.slice(1)));
    } catch {
      return undefined;
    }
  }
}

/** JSON or YAML. */
export async function parseOpenApi(text: string, name: string): Promise<OpenApiDocument> {
  if (/^\s*\{/.test(text)) return new OpenApiDocument(parseUpstreamJson(text));
  const { value } = await parseSource(text, name, 'yaml').catch((cause: unknown) => {
    throw badDocument('cannot be read', 'check the document with a linter', cause);
  });
  return new OpenApiDocument(value);
}

export function badDocument(problem: string, fix: string, cause?: unknown): FabricError {
  return failure('bad_document', { problem, fix }, { cause });
}
