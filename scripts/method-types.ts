// The methods of coordination as TypeScript types, for the client, which has nothing of the server.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeMethods, type MethodDescription } from '@starloom/coordination';

/** As much of JSON Schema as the methods use; a type that is not here fails. */
interface Schema {
  /** A type that several methods have: it is declared once, under this name. */
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
};

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BIOME = fileURLToPath(import.meta.resolve('@biomejs/biome/bin/biome'));

/** By title. */
const named = new Map<string, string>();

/** The text of packages/coordination-client/methods.d.ts. */
export function methodTypes(): string {
  named.clear();
  const methods = describeMethods();
  const discover = methods.find(({ name }) => name === 'mcp.discover');
  const common = fieldsOf(discover?.params ?? {});
  const rows = methods.map((method) => rowOf(method, common));
  const types = [...named].map(([name, type]) => `type ${name} = ${type};`);
  return format(`// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { Json, JsonObject } from '@starloom/core';

/** What any request may carry. */
type CommonParams = { ${common.join(' ')} };

${types.join('\n')}

export interface Methods {
  ${rows.join('\n')}
}
`);
}

function rowOf({ name, params, result }: MethodDescription, common: readonly string[]): string {
  const own = fieldsOf(params).filter((field) => !common.includes(field));
  const taken = own.length === 0 ? 'CommonParams' : `CommonParams & { ${own.join(' ')} }`;
  return `'${name}': { params: ${taken}; result: ${toType(result)} };`;
}

function toType(schema: Schema): string {
  const { title } = schema;
  if (title === undefined) return toPlainType(schema);
  const type = toPlainType(schema);
  if (type !== (named.get(title) ?? type)) throw new Error(`two types are called ${title}`);
  named.set(title, type);
  return title;
}

function toPlainType(schema: Schema): string {
  const { type, anyOf, items, properties, propertyNames, additionalProperties: values } = schema;
  if ('const' in schema) return toLiteral(schema.const);
  if (schema.enum) return schema.enum.map(toLiteral).join(' | ');
  if (anyOf) return anyOf.map(toType).join(' | ');
  if (items) return `(${toType(items)})[]`;
  if (properties) {
    const others = typeof values === 'object' ? '[key: string]: unknown;' : '';
    return `{ ${others} ${fieldsOf(schema).join(' ')} }`;
  }
  if (typeof values === 'object')
    return `Record<${toType(propertyNames ?? {})}, ${toType(values)}>`;
  if (type === 'object') return 'JsonObject';
  if (type === undefined) return 'Json';
  return [type]
    .flat()
    .map((name) => PLAIN[name] ?? fail(name))
    .join(' | ');
}

function fieldsOf({ properties = {}, required = [] }: Schema): readonly string[] {
  return Object.entries(properties).map(([name, schema]) => {
    const type = toType(schema);
    return required.includes(name) ? `${name}: ${type};` : `${name}?: ${type} | undefined;`;
  });
}

function toLiteral(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

function fail(type: string): never {
  throw new Error(`no TypeScript type is known for the JSON Schema type "${type}"`);
}

/** As the formatter of this repository leaves it. */
function format(code: string): string {
  const args = [BIOME, 'format', '--stdin-file-path=method-types.ts'];
  const options = { cwd: ROOT, input: code, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  if (status !== 0) throw new Error(`the formatter failed: ${stderr}`);
  return stdout;
}
