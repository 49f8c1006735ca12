// How what agents offer is named towards clients when many agents share one endpoint: prompts as
// `<agent_id>.<name>`, resources as `starloom:<agent_id>:<uri>`, also inside URI templates. User interfaces
// and skills keep their scheme, which their clients look at: `ui://starloom/<agent_id>/…`. Agents that
// are served unprefixed keep their names.

import { type Fields, isObject, type Registry } from '@starloom/core';

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
function parseResourceUri(uri: string): Named | undefined {
  const [, agentId, name] = /^starloom:([a-z0-9][a-z0-9_-]{0,30}):(.+)$/s.exec(uri) ?? [];
  if (agentId && name) return { agentId, name };
  const [, scheme, owner, rest] = KEPT.exec(uri) ?? [];
  return owner && rest ? { agentId: owner, name: `${scheme}${rest}` } : undefined;
}

function toPromptName(agentId: string, name: string): string {
  return `${agentId}.${name}`;
}

function parsePromptName(name: string): Named | undefined {
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

type Params = Record<string, unknown>;
export type Listing = 'resources' | 'resourceTemplates' | 'prompts' | 'skills';

/** Which agent a name of a client's means, and how what agents say is named to clients. */
export class RelayedNames {
  readonly #registry: Pick<Registry, 'get'>;
  readonly #unprefixed: readonly string[];

  constructor(registry: Pick<Registry, 'get'>, unprefixed: readonly string[]) {
    this.#registry = registry;
    this.#unprefixed = unprefixed;
  }

  /** Unprefixed agents are asked for whatever is not named otherwise. */
  resource(uri: unknown): Named | undefined {
    if (typeof uri !== 'string') return undefined;
    return parseResourceUri(uri) ?? this.#ofUnprefixed(uri);
  }

  prompt(name: unknown): Named | undefined {
    if (typeof name !== 'string') return undefined;
    const named = parsePromptName(name);
    return named && this.#registry.get(named.agentId) ? named : this.#ofUnprefixed(name);
  }

  reference(ref: unknown): Named | undefined {
    const { type, name, uri } = (ref ?? {}) as Params;
    return type === 'ref/prompt' ? this.prompt(name) : this.resource(uri);
  }

  /** An item of a list of the agent's. */
  toItem(agentId: string, key: Listing, item: Params): Params {
    if (this.#unprefixed.includes(agentId)) return item;
    if (key === 'prompts') return { ...item, name: toPromptName(agentId, String(item.name)) };
    const field = key === 'resourceTemplates' ? 'uriTemplate' : 'uri';
    const { resources } = item;
    return {
      ...item,
      [field]: toResourceUri(agentId, String(item[field])),
      ...(key === 'skills' &&
        Array.isArray(resources) && { resources: this.#all(agentId, resources) }),
    };
  }

  /** An answer of the agent's: the URIs beside its contents and in its links, never what they hold. */
  toAnswer(agentId: string, answer: Params): Params {
    if (this.#unprefixed.includes(agentId)) return answer;
    const { contents, resources, skill, messages } = answer;
    return {
      ...answer,
      ...(Array.isArray(contents) && { contents: this.#all(agentId, contents) }),
      ...(Array.isArray(resources) && { resources: this.#all(agentId, resources) }),
      ...(isObject(skill) && { skill: this.toItem(agentId, 'skills', skill) }),
      ...(Array.isArray(messages) && {
        messages: messages.map((message: Params) => ({
          ...message,
          content: Array.isArray(message.content)
            ? message.content.map((block) => toReadable(block, agentId))
            : toReadable(message.content, agentId),
        })),
      }),
    };
  }

  #all(agentId: string, items: readonly Params[]): Params[] {
    return items.map((item) => this.toItem(agentId, 'resources', item));
  }

  #ofUnprefixed(name: string): Named | undefined {
    const [agentId] = this.#unprefixed;
    return agentId === undefined ? undefined : { agentId, name };
  }
}

/** One block of content of an agent, with links that the caller can read here. */
export function toReadable(block: unknown, agentId: string): unknown {
  if (!isObject(block)) return block;
  if (block.type === 'resource_link' && typeof block.uri === 'string') {
    return { ...block, uri: toResourceUri(agentId, block.uri) };
  }
  const { resource } = block;
  if (block.type === 'resource' && isObject(resource) && typeof resource.uri === 'string') {
    return { ...block, resource: { ...resource, uri: toResourceUri(agentId, resource.uri) } };
  }
  return block;
}

/** The params with the name the agent knows. */
export function toOwnNames(params: Params, name: string): Params {
  const { ref } = params;
  if (ref !== undefined) {
    const { type } = ref as Params;
    return {
      ...params,
      ref: type === 'ref/prompt' ? { ...(ref as Params), name } : { ...(ref as Params), uri: name },
    };
  }
  return 'uri' in params ? { ...params, uri: name } : { ...params, name };
}
