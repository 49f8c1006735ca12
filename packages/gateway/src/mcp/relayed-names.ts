import { isObject, type Registry } from '@starloom/core';
import { toReadable } from '../pipeline/resource-links.ts';
import {
  type Named,
  parsePromptName,
  parseResourceUri,
  toPromptName,
  toResourceUri,
} from './names.ts';

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
