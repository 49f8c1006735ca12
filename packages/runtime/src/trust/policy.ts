import { z } from 'zod';
import type { Target } from './targets.ts';

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
    .enum(['on', 'off'])
    .default('on')
    .describe(
      'on: the model states a plan from the words of the user alone; what it plans is grounded',
    ),
  always: z
    .array(
      z.strictObject({
        tool: z.string().describe('Name of the tool'),
        targets: z
          .record(z.string(), z.array(z.string()))
          .default({})
          .describe('By argument, the values it may have; `*` stands for any text'),
      }),
    )
    .default([])
    .describe('Acts that a person allowed for good: a tool with these targets'),
});

export type TrustPolicy = z.output<typeof trustPolicySchema>;
export type TrustPolicyInput = z.input<typeof trustPolicySchema>;
export type ToolRule = TrustPolicy['tools'][string];

/** What the policy says of one tool; its own name wins over the pattern. */
export function toolRule({ tools }: TrustPolicy, name: string): ToolRule {
  const family = `${name.slice(0, name.indexOf(':'))}:*`;
  return ownValue(tools, name) ?? ownValue(tools, family) ?? 'named';
}

/** A person allowed the tool with these targets for good. */
export function isAlways(policy: TrustPolicy, name: string, targets: readonly Target[]): boolean {
  return policy.always.some(({ tool, targets: allowed }) => {
    const isFor = ({ argument, value }: Target) =>
      ownValue(allowed, argument)?.some((pattern) => matchesGlob(pattern, value)) ?? false;
    const isBare = Object.keys(allowed).length === 0;
    return tool === name && isBare === (targets.length === 0) && targets.every(isFor);
  });
}

function matchesGlob(pattern: string, value: string): boolean {
  const plain = pattern.replaceAll(/[\\^$.+?()[\]{}|]/g, '\\$&').replaceAll('*', '[\\s\\S]*');
  return new RegExp(`^${plain}$`, 'u').test(value);
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
