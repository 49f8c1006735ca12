// A JSON value while it is changed. The value it began with stays as it was: a container is copied
// when something in it changes, once, and only that one. So what is copied from one place to another
// can be the same value in both; how much text that may come to is bounded, since a value that is
// copied into itself doubles each time.

import type { Json } from '@starloom/core';

/** One that may be changed. */
export type Container = Json[] | { [key: string]: Json };

export class JsonDraft {
  /** Has the value at `root`. */
  readonly holder: { [key: string]: Json };
  /** Containers that this draft made, each in one place only. */
  readonly #own = new Set<object>();
  #bytesLeft: number;

  constructor(value: Json, copyBytes: number) {
    this.holder = { root: value };
    this.#bytesLeft = copyBytes;
  }

  /** The container at a key that is there, so that it can be changed; `undefined`: it is none. */
  open(parent: Container, key: string): Container | undefined {
    const child = memberOf(parent, key);
    if (!isContainer(child)) return undefined;
    if (this.#own.has(child)) return child;
    const copy: Container = Array.isArray(child) ? child.slice() : { ...child };
    this.#own.add(copy);
    if (Array.isArray(parent)) parent[Number(key)] = copy;
    else parent[key] = copy;
    return copy;
  }

  /** To be asked before a value gets a second place. False: there is no room for so much. */
  share(value: Json): boolean {
    const rest: Container[] = [];
    const charge = (each: Json) => {
      this.#bytesLeft -= ownBytes(each);
      if (isContainer(each)) rest.push(each);
    };
    charge(value);
    while (this.#bytesLeft >= 0) {
      const next = rest.pop();
      if (next === undefined) return true;
      this.#own.delete(next);
      for (const child of Array.isArray(next) ? next : Object.values(next)) charge(child);
    }
    return false;
  }
}

export function memberOf(parent: Container, key: string): Json | undefined {
  if (Array.isArray(parent)) return parent[toIndex(key) ?? -1];
  return Object.hasOwn(parent, key) ? parent[key] : undefined;
}

export function toIndex(key: string): number | undefined {
  return /^(0|[1-9]\d*)$/.test(key) ? Number(key) : undefined;
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

/** Its part of the JSON text without what is inside it; about, and hardly ever more. */
function ownBytes(value: Json): number {
  if (typeof value === 'string') return value.length + 2;
  if (!isContainer(value)) return String(value).length;
  if (Array.isArray(value)) return value.length + 1;
  return Object.keys(value).reduce((sum, key) => sum + key.length + 4, 1);
}
