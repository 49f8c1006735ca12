import { createTrace, ROOT_HOP } from '@starloom/core';
import { defineTool } from '@starloom/sdk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Approve } from '../../src/index.ts';
import { callTools, echo, openWorld, scripted, textOf, tool, until, type World } from './world.ts';

function callRemotely({ agent }: World, name: string, args: unknown = {}) {
  const { signal } = new AbortController();
  const trace = createTrace();
  return agent.callTool({ call: { name, args }, origin: 'remote', trace, hop: ROOT_HOP, signal });
}

const exposed = {
  mcp: { expose_tools: ['test:echo', 'test:reset'], private_tools: ['test.reset'] },
};
const hello = { text: 'hello' };

describe('the one path of a tool call', () => {
  it('[P2] runs the same tool by slash command, before the model and by the right of the user, and by the model, on one path', async () => {
    const asked: string[] = [];
    const approve: Approve = async ({ origin }) => {
      asked.push(origin);
      return true;
    };
    const read = tool('fs:read_file', ({ path }: never) => `text of ${path}`, {
      command: 'read',
      approval: true,
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
    });
    const provider = scripted(
      callTools({ name: 'fs:read_file', args: { path: 'filename.txt' } }),
      'Read.',
    );
    await using world = await openWorld({ provider, tools: [read], approve });

    const typed = await world.agent.turn('/read filename.txt');
    expect(textOf(typed.segments)).toBe('text of filename.txt');
    expect([typed.steps, provider.asked.length, asked]).toEqual([0, 0, []]);
    const ofUser = world.events.splice(0);

    await world.agent.turn('Please read filename.txt.');
    expect(asked).toEqual(['model']);
    const path = ['EXEC:TOOL_CALL', 'SAFETY:VERDICT', 'EXEC:TOOL_RESULT'];
    for (const [events, origin] of [
      [ofUser, 'user'],
      [world.events, 'model'],
    ] as const) {
      const passed = events.filter(({ type }) => path.includes(type));
      expect(passed.map(({ type }) => type)).toEqual(path);
      for (const { data } of passed) {
        expect(data).toMatchObject({ origin, call: { name: 'fs:read_file' } });
      }
      expect(passed[0]?.data).toMatchObject({ call: { args: { path: 'filename.txt' } } });
      expect(passed[2]?.data).toMatchObject({
        result: { output: [{ text: 'text of filename.txt' }] },
      });
    }
  });

  it('makes a call of another agent an EXEC:TOOL_CALL of origin remote, checked as any other', async () => {
    await using world = await openWorld({ provider: scripted(), tools: [echo], agent: exposed });
    const { result, block, error } = await callRemotely(world, 'test:echo', hello);
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ name: 'test:echo', output: [{ type: 'text', text: 'hello' }] });
    expect(block).toMatchObject({ role: 'tool', source: 'tool:test:echo' });
    expect(world.eventsOf('EXEC:TOOL_CALL')).toMatchObject([
      { origin: 'remote', call: { args: hello } },
    ]);
    expect(world.eventsOf('SAFETY:VERDICT')).toMatchObject([{ verdict: { decision: 'allow' } }]);

    const bad = await callRemotely(world, 'test:echo', { text: 7 });
    expect(bad.error?.code).toBe('BAD_INPUT');
  });

  it('lets other agents call what is exposed and not private, and nothing else', async () => {
    const reset = tool('test:reset', () => 'gone');
    const hidden = tool('test:hidden', () => 'seen');
    const tools = [echo, reset, hidden];
    await using world = await openWorld({ provider: scripted(), tools, agent: exposed });
    for (const name of ['test:reset', 'test:hidden']) {
      const { result, error } = await callRemotely(world, name);
      expect(error).toMatchObject({ code: 'POLICY_DENIED', details: { reason: 'not_exposed' } });
      expect(result.isError).toBe(true);
    }
    expect((await callRemotely(world, 'test:none')).error?.code).toBe('CAPABILITY_NOT_FOUND');
    expect(world.eventsOf('SAFETY:DENIED')).toHaveLength(2);
  });

  const refusals: [string, Approve | undefined][] = [
    ['no person can be asked', undefined],
    ['the person says no', async () => false],
    ['asking fails', () => Promise.reject(new Error('the window was closed'))],
  ];
  it.each(refusals)(
    'denies a tool that wants approval when %s, and the model hears of it',
    async (_, approve) => {
      const runs: string[] = [];
      const careful = tool('test:careful', () => `${runs.push('ran')}`, { approval: true });
      const provider = scripted(callTools({ name: 'test:careful' }), 'I understand.');
      const options = approve ? { approve } : {};
      await using world = await openWorld({ provider, tools: [careful], ...options });
      await world.agent.turn('Do it.');
      expect(runs).toEqual([]);
      expect(world.eventsOf('SAFETY:DENIED')).toMatchObject([{ rule: 'tool_approval' }]);
      const heard = provider.asked[1]?.context.blocks?.at(-1)?.segments[0]?.toolResult;
      expect(textOf(heard?.output ?? [])).toContain('test:careful was denied');
    },
  );

  it('binds an approval to the call as it was shown: the arguments cannot change afterwards', async () => {
    const approve: Approve = async ({ call }) => {
      expect(() => Object.assign(call.args as object, { text: 'evil' })).toThrow(TypeError);
      return true;
    };
    const careful = { ...echo, approval: true };
    const provider = scripted(callTools({ name: 'test:echo', args: { text: 'good' } }), 'Done.');
    await using world = await openWorld({ provider, tools: [careful], approve });
    await world.agent.turn('Do it.');
    expect(textOf(world.eventsOf('EXEC:TOOL_RESULT')[0]?.result.output ?? [])).toBe('good');
  });

  it('gives a tool what it needs: arguments of its own, a signal, the session, trace and hop', async () => {
    let seen: unknown;
    const curious = tool('test:curious', (args: never, context) => {
      Object.assign(args, { changed: true });
      context.progress('half way', 50);
      seen = { ...context, aborted: context.signal.aborted };
      return 'ok';
    });
    const provider = scripted(
      callTools({ id: 'c1', name: 'test:curious', args: { a: 1 } }),
      'Done.',
    );
    await using world = await openWorld({ provider, tools: [curious] });
    const { trace } = await world.agent.turn('Go.', { sessionId: 'one' });
    expect(seen).toMatchObject({
      aborted: false,
      sessionId: 'one',
      trace: { trace_id: trace.trace_id, parent_span_id: trace.span_id },
      hop: { depth: 1, chain: [] },
    });
    expect(world.eventsOf('STREAM:PROGRESS')).toEqual([
      { call: 'c1', message: 'half way', percent: 50 },
    ]);
    expect(provider.asked[1]?.context.blocks?.[1]?.segments[0]?.toolCall?.args).toEqual({ a: 1 });
  });

  it('cuts off a tool that hangs, even one that does not listen, and the model goes on', async () => {
    const deaf = tool('test:deaf', () => new Promise(() => {}), { timeoutMs: 20 });
    const provider = scripted(callTools({ name: 'test:deaf' }), 'It hangs.');
    await using world = await openWorld({ provider, tools: [deaf] });
    expect(textOf((await world.agent.turn('Go.')).segments)).toBe('It hangs.');
    expect(world.eventsOf('EXEC:TOOL_RESULT')).toMatchObject([{ code: 'TIMEOUT' }]);
  });

  it('shows the model why a tool failed, in words of the tool', async () => {
    const failing = tool('test:failing', () => {
      throw new Error('ENOENT: no such file a.txt');
    });
    const refined = defineTool({
      name: 'test:refined',
      description: 'Wants an even number.',
      effect: 'read',
      parameters: z.object({ even: z.number().refine((n) => n % 2 === 0, 'is odd') }),
      execute: () => 'even',
    });
    const calls = callTools({ name: 'test:failing' }, { name: 'test:refined', args: { even: 3 } });
    await using world = await openWorld({
      provider: scripted(calls, 'I see.'),
      tools: [failing, refined],
    });
    await world.agent.turn('Go.');
    const words = world
      .eventsOf('EXEC:TOOL_RESULT')
      .map(({ result, code }) => [code, textOf(result.output)]);
    expect(words).toEqual([
      ['UPSTREAM_ERROR', expect.stringContaining('ENOENT: no such file a.txt')],
      ['BAD_INPUT', expect.stringContaining('is odd')],
    ]);
  });

  it('keeps a flood of output out of the context: the beginning, the end, and how much is missing', async () => {
    const flood = tool('test:flood', () => `begin ${'x'.repeat(50_000_000)} end`);
    const provider = scripted(callTools({ name: 'test:flood' }), 'A lot.');
    await using world = await openWorld({ provider, tools: [flood] });
    await world.agent.turn('Go.');
    const seen = textOf(
      provider.asked[1]?.context.blocks?.at(-1)?.segments[0]?.toolResult?.output ?? [],
    );
    expect(seen.length).toBeLessThan(70_000);
    expect(seen).toMatch(/^begin x+\n… \d+ characters left out …\nx+ end$/);
  });

  it('shows what is neither text nor segments as JSON, and refuses what has no JSON', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const tools = [
      tool('test:object', () => ({ degrees: 25 })),
      tool('test:nothing', () => undefined as never),
      tool('test:circular', () => circular),
    ];
    const calls = callTools(...tools.map(({ name }) => ({ name })));
    await using world = await openWorld({ provider: scripted(calls, 'Done.'), tools });
    await world.agent.turn('Go.');
    const outputs = world.eventsOf('EXEC:TOOL_RESULT').map(({ call, result, code }) => {
      return [call.name, textOf(result.output), code] as const;
    });
    const byName = new Map(outputs.map(([name, ...rest]) => [name, rest]));
    expect(byName.get('test:object')).toEqual(['{\n  "degrees": 25\n}', undefined]);
    expect(byName.get('test:nothing')).toEqual(['', undefined]);
    expect(byName.get('test:circular')?.[1]).toBe('UPSTREAM_ERROR');
  });

  it('does not start a tool whose turn is over already', async () => {
    const runs: string[] = [];
    const counted = tool('test:counted', () => `${runs.push('ran')}`);
    const first = Promise.withResolvers<string>();
    const blocking = tool('test:blocking', () => first.promise);
    const calls = [
      ...Array.from({ length: 16 }, () => ({ name: 'test:blocking' })),
      { name: 'test:counted' },
    ];
    const controller = new AbortController();
    const tools = [blocking, counted];
    await using world = await openWorld({ provider: scripted(callTools(...calls)), tools });
    const turn = world.agent.turn('Go.', { signal: controller.signal });
    await until(() => world.eventsOf('EXEC:TOOL_CALL').length === 16);
    controller.abort();
    await expect(turn).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(runs).toEqual([]);
    expect(world.eventsOf('EXEC:TOOL_RESULT')).toHaveLength(17);
  });
});
