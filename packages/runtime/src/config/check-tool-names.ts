// A rule for a tool that does not exist protects nothing, and a misspelt one hides that. Names of
// tools of the agent itself are checked at the start, those of an MCP server once it has listed them.

import { closestWord } from '@starloom/core';
import type { ITool } from '@starloom/sdk';
import type { ServerHealth } from '../mcp/client/server-tool-source.ts';
import { failure } from '../reasons.ts';
import type { AgentToml } from './agent-toml.ts';

interface WrongName {
  readonly key: string;
  readonly name: string;
  readonly near: string | undefined;
}

/** Throws BAD_INPUT with every name in `agent.toml` that matches nothing. */
export function checkToolNames(
  toml: AgentToml,
  tools: ReadonlyMap<string, ITool>,
  servers: readonly ServerHealth[],
): void {
  const wrong = [
    ...wrongRules(toml, tools, servers),
    ...wrongSources(toml),
    ...wrongLists(servers),
    ...wrongTools(toml, tools, servers),
  ];
  const [first] = wrong;
  if (!first) return;
  const more = wrong.length > 1 ? `, and ${wrong.length - 1} more` : '';
  const near = wrong.flatMap(({ name, near }) => (near ? `"${near}" instead of "${name}"` : []));
  throw failure('config', {
    key: first.key,
    name: first.name,
    more,
    names: wrong.map(({ key, name }) => ({ key, name })),
    fix: near.length > 0 ? `write ${near.join(', ')}` : undefined,
  });
}

function wrongRules(
  { mcp, security }: AgentToml,
  tools: ReadonlyMap<string, ITool>,
  servers: readonly ServerHealth[],
): WrongName[] {
  const known = [...tools.keys()];
  const families = new Set([...known.map(familyOf), ...mcp.servers.map(({ name }) => name)]);
  const isOpen = (name: string) =>
    mcp.servers.some((server) => server.name === familyOf(name)) &&
    !isOnline(servers, familyOf(name));
  const isUnknown = (name: string) => !tools.has(name) && !isOpen(name);
  const rules = Object.keys(security.tools)
    .filter((name) => (name.endsWith(':*') ? !families.has(familyOf(name)) : isUnknown(name)))
    .map((name) => {
      const candidates = name.endsWith(':*') ? [...families].map((one) => `${one}:*`) : known;
      return wrongName('security.tools', name, candidates);
    });
  const always = security.always
    .filter(({ tool }) => isUnknown(tool))
    .map(({ tool }) => wrongName('security.always', tool, known));
  return [...rules, ...always];
}

function wrongSources({ mcp, security }: AgentToml): WrongName[] {
  const known = mcp.servers.map(({ name }) => `mcp:${name}`);
  return security.vetted_descriptions
    .filter((name) => !name.startsWith('agent:') && !known.includes(name))
    .map((name) => wrongName('security.vetted_descriptions', name, known));
}

function wrongLists(servers: readonly ServerHealth[]): WrongName[] {
  return servers.flatMap(({ name: server, missing }) =>
    missing.map((tool) => ({ key: `allowed_tools of MCP server ${server}`, ...tool })),
  );
}

/** `[mcp.servers.tools.<name>]`, and the arguments that its `targets` name. */
function wrongTools(
  { mcp }: AgentToml,
  tools: ReadonlyMap<string, ITool>,
  servers: readonly ServerHealth[],
): WrongName[] {
  return mcp.servers.flatMap(({ name: server, tools: own = {}, allowed_tools: listed }) =>
    Object.entries(own).flatMap(([name, { targets = [] }]) => {
      const key = `tools of MCP server ${server}`;
      const isLeftOut = listed !== undefined && !listed.includes('*') && !listed.includes(name);
      if (isLeftOut) return [wrongName(key, name, listed)];
      if (!isOnline(servers, server)) return [];
      const tool = tools.get(`${server}:${name}`);
      const offered = [...tools.keys()].filter((one) => familyOf(one) === server);
      const names = offered.map((one) => one.slice(server.length + 1));
      if (!tool) return [wrongName(key, name, names)];
      const known = Object.keys(Object(tool.parameters.properties));
      return targets
        .filter((target) => !known.includes(target))
        .map((target) => wrongName(`targets of ${tool.name}`, target, known));
    }),
  );
}

function wrongName(key: string, name: string, candidates: readonly string[]): WrongName {
  return { key, name, near: closestWord(name, candidates) };
}

function isOnline(servers: readonly ServerHealth[], name: string): boolean {
  return servers.some((server) => server.name === name && server.state === 'online');
}

function familyOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(':')));
}
