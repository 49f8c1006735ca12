import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../src/index.ts';
import { callTools, echo, scripted, tool } from '../core/world.ts';
import { openFace } from './fixtures/face-world.ts';

const hello = { text: 'hello' };
const reset = tool('admin:reset', () => 'gone', { effect: 'act', approval: true });

/** What happens to a call, without what tells one call from another. */
function stepsOf(events: readonly AgentEvent[]): unknown[] {
  return events.flatMap(({ type, data }) => {
    switch (type) {
      case 'EXEC:TOOL_CALL':
        return [[type, data.call.name, data.call.args]];
      case 'SAFETY:VERDICT':
        return [[type, data.verdict.decision, data.verdict.rule]];
      case 'SAFETY:DENIED':
        return [[type, data.rule]];
      case 'EXEC:TOOL_RESULT':
        return [[type, data.call.name, data.code ?? 'OK', data.result.output]];
      default:
        return [];
    }
  });
}

async function openListened(expose: readonly string[], answers: Parameters<typeof scripted> = []) {
  const world = await openFace({
    agent: { mcp: { expose_tools: [...expose] } },
    tools: [echo, reset],
    provider: scripted(...answers),
  });
  const events: AgentEvent[] = [];
  world.agent.bus.onAny((event) => events.push(event));
  return { world, events };
}

describe.each(['http', 'stdio'] as const)('a tools/call that comes in over %s', (transport) => {
  const connect = (world: Awaited<ReturnType<typeof openFace>>) =>
    transport === 'http' ? world.connectHttp() : world.connectStdio();

  it('[A4] becomes an EXEC:TOOL_CALL in the core, and takes the very steps of a call by the model', async () => {
    const call = callTools({ name: 'test:echo', args: hello });
    const { world, events } = await openListened(['test:echo'], [call, 'Done.']);
    await using _ = world;
    await using client = await connect(world);
    const { content } = await client.callTool({ name: 'test.echo', arguments: hello });
    expect(content).toEqual([{ type: 'text', text: 'hello' }]);
    const inbound = events.splice(0);
    expect(inbound.find(({ type }) => type === 'EXEC:TOOL_CALL')?.data).toMatchObject({
      origin: 'remote',
    });
    await world.agent.turn('Say hello.');
    expect(stepsOf(inbound)).toEqual(stepsOf(events));
    expect(stepsOf(inbound)).toHaveLength(3);
  });

  it('[A4] is validated, permitted and checked as any other', async () => {
    const { world, events } = await openListened(['test:echo', 'admin:reset']);
    await using _ = world;
    await using client = await connect(world);
    const wrong = await client.callTool({ name: 'test.echo', arguments: { text: 7 } });
    const asks = await client.callTool({ name: 'admin.reset', arguments: {} });
    expect([wrong.isError, asks.isError]).toEqual([true, true]);
    expect(stepsOf(events)).toEqual([
      ['EXEC:TOOL_CALL', 'test:echo', { text: 7 }],
      ['EXEC:TOOL_RESULT', 'test:echo', 'BAD_INPUT', expect.any(Array)],
      ['EXEC:TOOL_CALL', 'admin:reset', {}],
      ['SAFETY:VERDICT', 'ask', expect.any(String)],
      ['SAFETY:DENIED', expect.any(String)],
      ['EXEC:TOOL_RESULT', 'admin:reset', 'POLICY_DENIED', expect.any(Array)],
    ]);
  });
});
