import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callTools, echo, openWorld, scripted, textOf } from '../core/world.ts';

const delegate = callTools({ name: 'agent:delegate', args: { to: 'apart', task: 'Do it.' } });
const call = (name: string, args: object = {}) => [
  { type: 'tool_call', toolCall: { id: 'c', name, args } },
];
const apart = (script: readonly unknown[], more: object = {}) => ({
  name: 'apart',
  description: 'Works apart.',
  provider: { kind: 'scripted', script },
  process: true,
  ...more,
});

/** Processes that run the program of a helper, started by `parent` or by one of its children. */
function helperProcesses(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('helper-main.ts');
      } catch {
        return false;
      }
    });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('a helper in a process of its own', () => {
  it('[S9] has its model there and its tools here, within its rights and the budget of its caller', async () => {
    const usage = { inputTokens: 50, outputTokens: 5 };
    const helpers = [
      apart(
        [
          { segments: call('test:echo', { text: 'hello' }), metadata: { usage } },
          { segments: call('web:get'), metadata: { usage } },
          { segments: [{ type: 'text', text: 'Echoed.' }], metadata: { usage } },
        ],
        { tools: ['test:echo'] },
      ),
    ];
    const provider = scripted(delegate, 'Done.');
    await using world = await openWorld({ provider, tools: [echo], agent: { helpers } });
    const { steps, trace } = await world.agent.turn('Go.');
    const results = world
      .eventsOf('EXEC:TOOL_RESULT')
      .map((one) => [textOf(one.result.output), one.code]);
    expect(results).toMatchObject([
      ['hello', undefined],
      [expect.stringContaining('There is no tool "web:get"'), 'CAPABILITY_NOT_FOUND'],
      ['Echoed.', undefined],
    ]);
    expect(steps).toBe(5);
    expect(world.eventsOf('EXEC:RETURNED')).toMatchObject([
      { kind: 'process', steps: 3, usage: { inputTokens: 150, outputTokens: 15 } },
    ]);
    expect(new Set(world.events.map((event) => event.trace.trace_id))).toEqual(
      new Set([trace.trace_id]),
    );
  });

  it('[S9] ends when its caller has no budget left, or cancels', async () => {
    const before = helperProcesses();
    const many = Array.from({ length: 9 }, () => call('test:echo', { text: 'x' }));
    const helpers = [
      apart(many, { tools: ['test:echo'] }),
      { ...apart([{ hang: true }]), name: 'hanging' },
    ];
    const hang = callTools({ name: 'agent:delegate', args: { to: 'hanging', task: 'x' } });
    const control = new AbortController();
    await using world = await openWorld({
      provider: scripted(delegate, hang),
      tools: [echo],
      agent: { helpers, limits: { steps: 4 } },
    });
    await expect(world.agent.turn('Go.')).rejects.toMatchObject({ details: { budget: 'steps' } });
    world.agent.bus.on('STREAM:PROGRESS', ({ data }) => {
      if (data.message.startsWith('hanging')) control.abort(new Error('enough'));
    });
    await expect(world.agent.turn('Go.', { signal: control.signal })).rejects.toThrow();
    await expect.poll(() => helperProcesses().filter((pid) => !before.includes(pid))).toEqual([]);
  });

  it('[S9] is killed with its parent, also when that is killed by force', async () => {
    const before = helperProcesses();
    const parent: ChildProcess = spawn(
      process.execPath,
      ['--conditions=@starloom/source', join(import.meta.dirname, 'helper-agent.ts')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    if (parent.stdout) await once(parent.stdout, 'data');
    const started = helperProcesses().filter((pid) => !before.includes(pid));
    expect(started).toHaveLength(1);
    parent.kill('SIGKILL');
    await expect.poll(() => started.filter(isAlive), { timeout: 20_000 }).toEqual([]);
  });
});
