import { describe, expect, it } from 'vitest';
import type { ToolSource } from '../../src/core/seams.ts';
import { fixedSource, ToolRegistry } from '../../src/core/tool-registry.ts';
import { tool } from './world.ts';

const { signal } = new AbortController();
const named = (...names: string[]) => names.map((name) => tool(name, () => name));

/** A server that brings its tools later. */
function starting() {
  const ready = Promise.withResolvers<void>();
  const listeners = new Set<() => void>();
  let tools = named();
  const source: ToolSource = {
    list: () => tools,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    ready: () => ready.promise,
    close: () => Promise.reject(new Error('stuck')),
  };
  const bring = (...names: string[]) => {
    tools = named(...names);
    for (const listener of listeners) listener();
    ready.resolve();
  };
  return { source, bring, listeners };
}

describe('the tools of an agent', () => {
  it('follow their sources, and notify every listener, even when one of them throws', () => {
    const { source, bring } = starting();
    const registry = new ToolRegistry([fixedSource(named('fs:read')), source]);
    let reported = 0;
    registry.onChange(() => {
      throw new Error('not listening');
    });
    const stop = registry.onChange(() => {
      reported += 1;
    });
    bring('db:query');
    expect([...registry.tools.keys()]).toEqual(['fs:read', 'db:query']);
    expect(reported).toBe(1);
    stop();
    bring();
    expect([...registry.tools.keys()]).toEqual(['fs:read']);
    expect(reported).toBe(1);
  });

  it('belong to the source that brought a name first', () => {
    const first = named('fs:read');
    const { source, bring } = starting();
    const registry = new ToolRegistry([fixedSource(first), source]);
    bring('fs:read');
    expect(registry.get('fs:read')).toBe(first[0]);
  });

  it('are there though one source cannot list its own', () => {
    const broken: ToolSource = {
      ...fixedSource([]),
      list: () => {
        throw new Error('disk full');
      },
    };
    const registry = new ToolRegistry([broken, fixedSource(named('fs:read'))]);
    expect([...registry.tools.keys()]).toEqual(['fs:read']);
  });

  it('are waited for while a source starts', async () => {
    const { source, bring } = starting();
    const registry = new ToolRegistry([source]);
    const ready = registry.ready(signal);
    bring('db:query');
    await ready;
    expect(registry.get('db:query')).toBeDefined();
  });

  it.each([
    ['fs:raed_file', ['fs:read_file']],
    ['read_file', ['fs:read_file']],
    ['fs.read_file', ['fs:read_file']],
    ['disk:read_file', ['fs:read_file']],
    ['query', ['db:query', 'log:query']],
    ['zzz', []],
  ])('near %s are %j', (name, expected) => {
    const registry = new ToolRegistry([
      fixedSource(named('fs:read_file', 'db:query', 'log:query')),
    ]);
    expect(registry.near(name)).toEqual(expected);
  });

  it('close with every source, though one fails to', async () => {
    const closed: string[] = [];
    const { source, listeners } = starting();
    const one = fixedSource([], () => void closed.push('one'));
    const registry = new ToolRegistry([
      one,
      source,
      fixedSource([], () => void closed.push('two')),
    ]);
    await registry.close();
    expect(closed).toEqual(['one', 'two']);
    expect(listeners.size).toBe(0);
    expect(registry.tools.size).toBe(0);
  });
});
