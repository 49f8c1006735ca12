// Tells at a glance that a JSON Schema is well formed, for those made of everyday keywords alone. The
// meta-schemas say it of every schema, but compiling them costs ten times what compiling a tool's
// schema does, at every start; they are left for schemas that this cannot vouch for.

type Check = (value: unknown) => boolean;

const TYPES = new Set<unknown>([
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
]);

const anything: Check = () => true;
const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => Number.isFinite(value);
const isCount: Check = (value) => Number.isInteger(value) && Number(value) >= 0;
const isList: Check = (value) => Array.isArray(value);
const isWords = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;
const isSchemas: Check = (value) =>
  Array.isArray(value) && value.length > 0 && value.every(isPlainSchema);
const isSchemaMap: Check = (value) => isRecord(value) && Object.values(value).every(isPlainSchema);

const isType: Check = (value) =>
  TYPES.has(value) || (isWords(value) && value.length > 0 && value.every((one) => TYPES.has(one)));

const KEYWORDS = {
  type: isType,
  properties: isSchemaMap,
  required: isWords,
  additionalProperties: (value) => isPlainSchema(value),
  propertyNames: (value) => isPlainSchema(value),
  items: (value) => isPlainSchema(value),
  prefixItems: isSchemas,
  anyOf: isSchemas,
  oneOf: isSchemas,
  allOf: isSchemas,
  not: (value) => isPlainSchema(value),
  enum: isList,
  const: anything,
  default: anything,
  examples: isList,
  title: isText,
  description: isText,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => isNumber(value) && Number(value) > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  uniqueItems: isFlag,
  minProperties: isCount,
  maxProperties: isCount,
} as const satisfies Readonly<Record<string, Check>>;

export function isPlainSchema(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  if (!isRecord(schema)) return false;
  return Object.entries(schema).every(
    ([keyword, value]) => Object.hasOwn(KEYWORDS, keyword) && KEYWORDS[keyword as Keyword](value),
  );
}

type Keyword = keyof typeof KEYWORDS;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
