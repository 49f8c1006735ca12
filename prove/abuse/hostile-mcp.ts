// What hostile MCP agents answer: schemas that take exponential or quadratic time, answers and
// descriptions of ten megabytes.

export interface McpRequest {
  readonly id?: number | string;
  readonly method: string;
}

const MEGABYTE = 1024 ** 2;
const MILLION_KEYS = 1_000_000;
const CHAIN = 30;

/** `undefined` for a notification. */
export function answerMcp(agent: string, request: McpRequest): unknown {
  const { id, method } = request;
  if (id === undefined) return undefined;
  const result = resultOf(agent, method);
  if (result) return { jsonrpc: '2.0', id, result };
  return { jsonrpc: '2.0', id, error: { code: -32601, message: 'not a method of this agent' } };
}

function resultOf(agent: string, method: string) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: agent, version: '1' },
      };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: toolsOf(agent) };
    case 'tools/call':
      return agent === 'answers' ? largeAnswer() : { content: [{ type: 'text', text: 'done' }] };
    default:
      return undefined;
  }
}

let lists = 0;

function toolsOf(agent: string): readonly object[] {
  const object = { type: 'object' };
  switch (agent) {
    case 'schemas':
      return Object.entries(HOSTILE_SCHEMAS).map(([name, inputSchema]) => ({ name, inputSchema }));
    case 'changing':
      lists += 1;
      return Array.from({ length: 20 }, (_, n) => ({
        name: `tool${n}`,
        inputSchema: changingSchema(lists * 20 + n),
      }));
    case 'descriptions':
      return [
        { name: 'long', description: 'x'.repeat(10 * MEGABYTE), inputSchema: object },
        { name: 'painted', description: '\u001b[31mred\u202e', inputSchema: object },
      ];
    default:
      return [{ name: 'answer', inputSchema: object }];
  }
}

/** A different one each time: nothing that is compiled for it is needed again. */
function changingSchema(n: number): object {
  const properties = Array.from({ length: 40 }, (_, at) => [
    `p${n}_${at}`,
    { type: 'string', minLength: n % 7, pattern: `^x${n}` },
  ]);
  return { type: 'object', properties: Object.fromEntries(properties) };
}

const HOSTILE_SCHEMAS = {
  pattern: {
    type: 'object',
    properties: { text: { type: 'string', pattern: '^(a+)+$' } },
  },
  unique: {
    type: 'object',
    properties: { list: { type: 'array', uniqueItems: true, items: { type: 'object' } } },
  },
  chain: {
    type: 'object',
    properties: { value: { $ref: '#/$defs/n0' } },
    $defs: Object.fromEntries([
      ...Array.from({ length: CHAIN }, (_, n) => {
        const next = { $ref: `#/$defs/n${n + 1}` };
        return [`n${n}`, { anyOf: [next, next] }];
      }),
      [`n${CHAIN}`, { type: 'boolean' }],
    ]),
  },
} as const;

/** Arguments that take longest by each schema. */
export function worstArguments(tool: keyof typeof HOSTILE_SCHEMAS): object {
  switch (tool) {
    case 'pattern':
      return { text: `${'a'.repeat(34)}!` };
    case 'unique':
      return { list: Array.from({ length: 60_000 }, (_, n) => ({ n })) };
    case 'chain':
      return { value: 'no boolean' };
  }
}

export const HOSTILE_TOOLS = Object.keys(HOSTILE_SCHEMAS) as (keyof typeof HOSTILE_SCHEMAS)[];

let keys: object | undefined;

function largeAnswer(): object {
  keys ??= Object.fromEntries(Array.from({ length: MILLION_KEYS }, (_, n) => [`k${n}`, 0]));
  return { content: [{ type: 'text', text: 'many' }], structuredContent: keys };
}
