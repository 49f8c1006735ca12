import { z } from 'zod';

/** What an operator decides about trust. */
export const trustPolicySchema = z.strictObject({
  tools: z
    .record(z.string(), z.enum(['named', 'allow', 'ask', 'deny']))
    .default({})
    .describe(
      'By tool name or `<plugin or server>:*`. named: the decision table (default); allow: an act needs no grounded targets; ask: always ask; deny: never',
    ),
  known_hosts: z
    .array(z.string())
    .default([])
    .describe('Hosts and mail domains that acts may reach: `example.com`, `*.example.com`, `*`'),
  vetted_descriptions: z
    .array(z.string())
    .default([])
    .describe('MCP servers whose tool descriptions a person has read: `mcp:<server>`'),
  plan: z
    .enum(['off', 'first_step'])
    .default('off')
    .describe('first_step: the model states its plan before it reads anything, and is held to it'),
});

export type TrustPolicy = z.output<typeof trustPolicySchema>;
export type TrustPolicyInput = z.input<typeof trustPolicySchema>;
export type ToolRule = TrustPolicy['tools'][string];

/** What the policy says of one tool; its own name wins over the pattern. */
export function toolRule({ tools }: TrustPolicy, name: string): ToolRule {
  const family = `${name.slice(0, name.indexOf(':'))}:*`;
  return ownValue(tools, name) ?? ownValue(tools, family) ?? 'named';
}

export function isKnownHost({ known_hosts }: TrustPolicy, host: string): boolean {
  return known_hosts.some(
    (known) =>
      known === '*' ||
      known === host ||
      (known.startsWith('*.') && (host === known.slice(2) || host.endsWith(known.slice(1)))),
  );
}

function ownValue<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
