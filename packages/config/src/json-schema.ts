import { z } from 'zod';

/** The JSON Schema (2020-12) of what may stand in a file, for editors and other tools. */
export function toConfigJsonSchema(
  schema: z.ZodType,
  { name, title }: { readonly name: string; readonly title: string },
): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' });
  const properties = rest.properties && { properties: { $schema: EDITOR, ...rest.properties } };
  return { $schema, $id: `urn:starloom:schema:${name}`, title, ...rest, ...properties };
}

const EDITOR = { type: 'string', description: 'The schema of this file, for editors' };
