// How what agents offer is named towards clients when many agents share one endpoint: prompts as
// `<agent_id>.<name>`, resources as `starloom:<agent_id>:<uri>`, also inside URI templates. User interfaces
// and skills keep their scheme, which their clients look at: `ui://starloom/<agent_id>/…`. Agents that
// are served unprefixed keep their names.

import { type Fields, isObject } from '@starloom/core';

export interface Named {
  readonly agentId: string;
  /** As the agent calls it. */
  readonly name: string;
}

const SCHEME = 'starloom:';
const AUTHORITY = 'starloom/';
const KEPT_SCHEME = /^(?:ui|skill):\/\//;
const KEPT = /^((?:ui|skill):\/\/)starloom\/([a-z0-9][a-z0-9_-]{0,30})\/(.+)$/s;

export function toResourceUri(agentId: string, uri: string): string {
  const [scheme] = KEPT_SCHEME.exec(uri) ?? [];
  if (scheme === undefined) return `${SCHEME}${agentId}:${uri}`;
  return `${scheme}${AUTHORITY}${agentId}/${uri.slice(scheme.length)}`;
}

/** `undefined` when the URI is not one of ours. */
export function parseResourceUri(uri: string): Named | undefined {
  const [, agentId, name] = /^starloom:([a-z0-9][a-z0-9_-]{0,30}):(.+)$/s.exec(uri) ?? [];
  if (agentId && name) return { agentId, name };
  const [, scheme, owner, rest] = KEPT.exec(uri) ?? [];
  return owner && rest ? { agentId: owner, name: `${scheme}${rest}` } : undefined;
}

export function toPromptName(agentId: string, name: string): string {
  return `${agentId}.${name}`;
}

export function parsePromptName(name: string): Named | undefined {
  const at = name.indexOf('.');
  return at > 0 ? { agentId: name.slice(0, at), name: name.slice(at + 1) } : undefined;
}

/** Of MCP Apps, by the key of today and the one that older hosts read. */
const UI = 'ui';
const UI_FLAT = 'ui/resourceUri';

/** The user interface that a tool names, as its agent calls it. */
export function uiResourceOf(meta: unknown): string | undefined {
  if (!isObject(meta)) return undefined;
  const { [UI]: ui, [UI_FLAT]: flat } = meta;
  const uri = (isObject(ui) ? ui.resourceUri : undefined) ?? flat;
  return typeof uri === 'string' ? uri : undefined;
}

/** The `_meta` of a tool, with the name under which its user interface is read here. */
export function withReadableUi(agentId: string, meta: Fields): Fields {
  const { [UI]: ui, [UI_FLAT]: flat } = meta;
  return {
    ...meta,
    ...(isObject(ui) &&
      typeof ui.resourceUri === 'string' && {
        [UI]: { ...ui, resourceUri: toResourceUri(agentId, ui.resourceUri) },
      }),
    ...(typeof flat === 'string' && { [UI_FLAT]: toResourceUri(agentId, flat) }),
  };
}
