// The agents of a run: ordinary ones, and those that attack the gateway by what they say. Each is a path
// of an HTTP server, but for one over stdio; the ordinary agents have a process of their own. One of them
// speaks MCP: a gateway that meets its first MCP agent loads code for it, which is no part of an attack.

import { fileURLToPath } from 'node:url';
import type { ManifestInput } from '@starloom/core';

export const HOSTILE_AGENTS = [
  'schemas',
  'changing',
  'answers',
  'descriptions',
  'tokens',
  'slow',
  'looper',
] as const;
export type HostileAgentName = (typeof HOSTILE_AGENTS)[number];
export type OrdinaryAgentName = 'good' | 'tools';

/** The principal as which the agent `looper` calls back. */
export const LOOPER_PRINCIPAL = 'looper-agent';

const CHANGING_AGENT = fileURLToPath(new URL('changing-agent.ts', import.meta.url));
const JSON_AGENTS: ReadonlySet<string> = new Set(['good', 'slow', 'tokens', 'looper']);

export function toManifest(
  name: OrdinaryAgentName | HostileAgentName,
  base: string,
): ManifestInput {
  const uri = `${base}/${name}`;
  if (name === 'changing') {
    const args = ['--conditions=@starloom/source', CHANGING_AGENT];
    const endpoint = { transport: 'stdio', command: process.execPath, args } as const;
    return { agent_id: name, endpoint, trust_tier: 'org' };
  }
  if (!JSON_AGENTS.has(name)) {
    return { agent_id: name, endpoint: { transport: 'http', uri }, trust_tier: 'org' };
  }
  const capability = { good: 'echo', slow: 'wait', tokens: 'speak', looper: 'loop' }[
    name as 'good'
  ];
  return {
    agent_id: name,
    endpoint: { transport: 'http', uri, protocol: 'http' },
    capabilities: [
      { name: capability, streaming: name === 'tokens', reentrant: name === 'looper' },
      ...(name === 'good' ? [{ name: 'wait' }] : []),
    ],
    trust_tier: 'org',
    fallback: 'none',
    ...(name === 'looper' && { auth: { principal: LOOPER_PRINCIPAL } }),
  };
}
