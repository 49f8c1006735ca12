import { z } from 'zod';

export const TRUST_MODES = ['default', 'strict', 'research'] as const;

/** What an operator decides about trust. */
export const trustPolicySchema = z.strictObject({
  mode: z
    .enum(TRUST_MODES)
    .default('default')
    .describe(
      'strict: doubts become refusals; research: signs in what is read are noted, not acted on',
    ),
  tools: z
    .record(z.string(), z.enum(['allow', 'ask', 'deny']))
    .default({})
    .describe('By tool name or `<plugin or server>:*`; allow waives approval, not the leak checks'),
  known_hosts: z
    .array(z.string())
    .default([])
    .describe('Hosts that may be called without asking: `example.com`, `*.example.com`, `*`'),
  vetted_descriptions: z
    .array(z.string())
    .default([])
    .describe('MCP servers and agents whose tool descriptions a person has read: `mcp:<server>`'),
});

export type TrustPolicy = z.output<typeof trustPolicySchema>;
export type TrustPolicyInput = z.input<typeof trustPolicySchema>;
export type TrustMode = TrustPolicy['mode'];

/** What the policy says of one tool; its own name wins over the pattern. */
export function toolPolicy(
  { tools }: TrustPolicy,
  name: string,
): 'allow' | 'ask' | 'deny' | undefined {
  const family = `${name.slice(0, name.indexOf(':'))}:*`;
  return ownValue(tools, name) ?? ownValue(tools, family);
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
