import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createTrace, META } from '@starloom/core';
import { freePort } from '@starloom/testkit';
import { describe, expect, it } from 'vitest';
import { isRunning, openServers, textOf } from './fixtures/servers-world.ts';

const failure = (code: string, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });

describe('MCP servers of an agent', () => {
  it('are started when they are first needed, once, and end with the agent', async () => {
    const world = await openServers((server) => [server('one')]);
    expect(world.servers.health).toMatchObject([
      { name: 'one', state: 'idle', tools: 0, starts: 0 },
    ]);
    expect(await world.pids('one')).toEqual([]);
    expect(world.servers.list()).toEqual([]);
    await Promise.all([world.servers.ready(), world.servers.ready()]);
    expect(world.names()).toContain('one:echo');
    expect(world.servers.health).toMatchObject([{ state: 'online', starts: 1 }]);
    const [pid = 0, ...others] = await world.pids('one');
    expect(others).toEqual([]);
    expect(isRunning(pid)).toBe(true);
    await world[Symbol.asyncDispose]();
    expect(isRunning(pid)).toBe(false);
  });

  it.each(['both', 'legacy'])('answer with what they have, in the era "%s"', async (era) => {
    await using world = await openServers((server) => [server('one', era)]);
    await world.servers.ready();
    expect(JSON.parse(textOf(await world.call('one:echo', { a: 1 })))).toMatchObject({
      args: { a: 1 },
    });
    expect(await world.call('one:mixed')).toEqual([
      { type: 'text', text: 'words' },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'text', text: 'note://1\n\ninside' },
      { type: 'text', text: '(resource two: note://2)' },
    ]);
    expect(JSON.parse(textOf(await world.call('one:structured')))).toEqual({ answer: 42 });
  });

  it.each(['both', 'legacy'])('lose no progress, in the era "%s"', async (era) => {
    await using world = await openServers((server) => [server('one', era)]);
    await world.servers.ready();
    const reported: [string, number | undefined][] = [];
    const progress = (message: string, percent?: number) => void reported.push([message, percent]);
    await world.call('one:progress', {}, { progress });
    expect(reported).toEqual([
      ['step 1', 25],
      ['step 2', 50],
      ['step 3', 75],
    ]);
  });

  it('receive trace, chain and one hop more with every call', async () => {
    await using world = await openServers((server) => [server('one')]);
    await world.servers.ready();
    const trace = createTrace();
    const hop = { depth: 3, chain: ['a/x', 'b/y'] };
    const { meta } = JSON.parse(textOf(await world.call('one:echo', {}, { trace, hop })));
    expect(meta).toMatchObject({
      [META.trace]: trace.trace_id,
      [META.depth]: '4',
      [META.chain]: 'a/x,b/y',
      traceparent: expect.stringContaining(trace.trace_id.replaceAll('-', '')),
    });
  });

  it('bring tools that are untrusted, whatever their servers say of them', async () => {
    await using world = await openServers((server) => [server('one')]);
    await world.servers.ready();
    const tools = world.servers.list();
    for (const tool of tools) expect(tool).toMatchObject({ untrusted: true, source: 'mcp:one' });
    expect(tools.find(({ name }) => name === 'one:exit')?.effect).toBe('act');
  });

  it('bring all tools with a warning, none, or those that are named', async () => {
    await using world = await openServers((server) => [
      server('all'),
      { ...server('none'), allowed_tools: [] },
      { ...server('some'), allowed_tools: ['echo', 'fail', 'missing'] },
    ]);
    await world.servers.ready();
    const of = (name: string) => world.names().filter((tool) => tool.startsWith(`${name}:`));
    expect(of('all').length).toBeGreaterThan(10);
    expect(of('none')).toEqual([]);
    expect(of('some')).toEqual(['some:echo', 'some:fail']);
    expect(await world.pids('none')).toEqual([]);
    const warnings = world.warnings.map(({ fields }) => fields);
    expect(warnings).toHaveLength(2);
    expect(warnings).toContainEqual({
      server: 'all',
      tools: of('all').length,
      fix: expect.stringContaining('allowed_tools'),
    });
    expect(warnings).toContainEqual({ server: 'some', missing: ['missing'] });
  });

  it.each(['both', 'legacy'])('tell when their tools change, in the era "%s"', async (era) => {
    await using world = await openServers((server) => [server('one', era)]);
    await world.servers.ready();
    const before = world.names();
    let changes = 0;
    world.servers.onChange(() => {
      changes += 1;
    });
    expect(before).not.toContain('one:grown');
    await world.call('one:grow');
    await expect.poll(() => world.names(), { timeout: 10_000 }).toContain('one:grown');
    expect(changes).toBe(1);
    expect(textOf(await world.call('one:grown'))).toBe('I am new');
  });

  it('keep their allow-list when their tools change', async () => {
    await using world = await openServers((server) => [
      { ...server('one'), allowed_tools: ['grow', 'grown'] },
      { ...server('two'), allowed_tools: ['grow'] },
    ]);
    await world.servers.ready();
    await Promise.all([world.call('one:grow'), world.call('two:grow')]);
    await expect
      .poll(() => world.names(), { timeout: 10_000 })
      .toEqual(['one:grow', 'one:grown', 'two:grow']);
  });
});

describe('an MCP server that misbehaves', () => {
  it('fails alone: the others are there as if nothing was', async () => {
    const port = await freePort();
    await using world = await openServers(
      (server) => [
        { name: 'missing', command: ['/nowhere/at/all'] },
        { name: 'dead', command: [process.execPath, '--eval', 'process.exit(3)'] },
        { name: 'silent', command: [process.execPath, '--eval', 'setInterval(() => {}, 1000)'] },
        { name: 'loud', command: ['/bin/sh', '-c', 'yes "this is not MCP"'] },
        { name: 'nobody', url: `http://127.0.0.1:${port}/mcp` },
        server('good'),
      ],
      { connectTimeoutMs: 12_000 },
    );
    await world.servers.ready();
    const health = Object.fromEntries(
      world.servers.health.map(({ name, state, failure: why }) => [
        name,
        [state, why?.code, why?.details.reason],
      ]),
    );
    expect(health).toEqual({
      missing: ['offline', 'AGENT_OFFLINE', 'not_found'],
      dead: ['offline', 'AGENT_OFFLINE', expect.stringMatching(/^(process_ended|stdin_closed)$/)],
      silent: ['offline', 'AGENT_OFFLINE', 'connect_timeout'],
      loud: ['offline', 'UPSTREAM_ERROR', 'not_json'],
      nobody: ['offline', 'AGENT_OFFLINE', 'refused'],
      good: ['online', undefined, undefined],
    });
    expect(textOf(await world.call('good:echo'))).toContain('args');
  });

  it('says in its own words that a tool failed', async () => {
    await using world = await openServers((server) => [server('one')]);
    await world.servers.ready();
    await expect(world.call('one:fail')).rejects.toThrow('the disk is on fire');
    await expect(world.call('one:fail')).rejects.toThrow(
      failure('UPSTREAM_ERROR', { reason: 'tool_error', server: 'one' }),
    );
    await expect(world.call('one:throw')).rejects.toThrow(
      failure('UPSTREAM_ERROR', { reason: 'rpc_error', server: 'one' }),
    );
    expect(world.servers.health).toMatchObject([{ state: 'online', starts: 1 }]);
  });

  it('is notified when the agent no longer waits for a tool that hangs', async () => {
    await using world = await openServers((server) => [server('one')]);
    await world.servers.ready();
    const left = new AbortController();
    const hanging = world.call('one:hang', {}, { signal: left.signal });
    await world.call('one:echo');
    left.abort();
    await expect(hanging).rejects.toThrow(failure('CANCELLED'));
    const mark = join(world.folder.path, 'one.pids.cancelled');
    await expect.poll(() => existsSync(mark), { timeout: 10_000 }).toBe(true);
    expect(textOf(await world.call('one:echo'))).toContain('args');
  });

  it('is started again by the next call after it died, its tools listed meanwhile', async () => {
    await using world = await openServers((server) => [server('one')]);
    await world.servers.ready();
    await expect(world.call('one:exit')).rejects.toThrow(
      failure('AGENT_OFFLINE', { reason: 'process_ended' }),
    );
    expect(world.servers.health).toMatchObject([{ state: 'offline', starts: 1 }]);
    expect(world.names()).toContain('one:echo');
    expect(textOf(await world.call('one:echo'))).toContain('args');
    expect(world.servers.health).toMatchObject([{ state: 'online', starts: 2 }]);
    const pids = await world.pids('one');
    expect(pids.map(isRunning)).toEqual([false, true]);
  });

  it('is started ever more slowly when it keeps dying', async () => {
    await using world = await openServers((server) => [server('one')]);
    await world.servers.ready();
    const failures: unknown[] = [];
    await expect
      .poll(
        async () => {
          const error = await world.call('one:exit').catch((thrown) => thrown);
          failures.push(error.details.reason);
          return error.details;
        },
        { timeout: 30_000, interval: 1 },
      )
      .toMatchObject({ reason: 'backoff', retry_after_ms: expect.any(Number) });
    expect(failures.length).toBeLessThan(10);
    expect((await world.pids('one')).length).toBeLessThan(10);
  });

  it('cannot fill the memory with one endless line', async () => {
    await using world = await openServers((server) => [server('one')]);
    await world.servers.ready();
    const before = process.memoryUsage().rss;
    await expect(world.call('one:flood')).rejects.toThrow(
      failure('UPSTREAM_ERROR', { reason: 'line_too_long' }),
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
    expect(textOf(await world.call('one:echo'))).toContain('args');
  });

  it('is ended when it writes on and on what is not MCP', async () => {
    await using world = await openServers((server) => [server('one')]);
    await world.servers.ready();
    await expect(world.call('one:chatter')).rejects.toThrow(
      failure('UPSTREAM_ERROR', { reason: 'not_json' }),
    );
    const [first = 0] = await world.pids('one');
    await expect.poll(() => isRunning(first), { timeout: 10_000 }).toBe(false);
  });
});
