// An example of every method of coordination: what agents that write a report ask for, and what the
// services really answer, on the in-memory store at a time that stands in the examples.

import { createCoordination, type METHODS, type MethodName } from '@starloom/coordination';
import { MemoryCoordinationStore } from '@starloom/coordination/testing';
import { ManualClock } from '@starloom/core/testing';
import type { z } from 'zod';

type Params<Name extends MethodName> = z.input<(typeof METHODS)[Name]['params']>;
type Result<Name extends MethodName> = z.output<(typeof METHODS)[Name]['result']>;
type Ask = <Name extends MethodName>(method: Name, params: Params<Name>) => Promise<Result<Name>>;

export interface Example {
  readonly params: Readonly<Record<string, unknown>>;
  readonly result: Readonly<Record<string, unknown>>;
}

export const exampleSession = '6f1c7f9e-6f0a-4b6e-9a53-0c8d3f6f2a10';
export const exampleTime = 1_800_000_000_000;
const exampleCheckpoint = '0b6f8b8e-3a55-4f9e-8d0c-1f2e3d4c5b6a';
const STEP_MS = 100;

/** By method. */
export const EXAMPLES = await record();

async function record(): Promise<Readonly<Record<string, Example>>> {
  const clock = new ManualClock(exampleTime);
  const store = new MemoryCoordinationStore({ clock });
  const coordination = createCoordination({ store, clock });
  const examples: Record<string, Example> = {};
  const connect = () => {
    const peer = coordination.connect({ principal: { id: 'ci' }, push: () => {} });
    const ask = async (method: string, params: Example['params']) => {
      const answer = await peer.handle({ jsonrpc: '2.0', id: 1, method, params });
      if (answer === undefined || !('result' in answer)) throw new Error(JSON.stringify(answer));
      const result = answer.result as Example['result'];
      examples[method] ??= { params, result };
      clock.advance(STEP_MS);
      return result;
    };
    return ask as Ask;
  };
  const checkpointId = await writeReport(connect);
  await coordination.close();
  await store.close();
  const text = JSON.stringify({ ...examples, 'mcp.describe': shortened(examples['mcp.describe']) });
  return JSON.parse(text.replaceAll(checkpointId, exampleCheckpoint));
}

/** The id of the checkpoint, which is a random one. */
async function writeReport(connect: () => Ask): Promise<string> {
  const session_id = exampleSession;
  const planner = connect();
  await planner('mcp.discover', {});
  await planner('mcp.status', {});
  await planner('mcp.describe', { service: 'tool_cache' });
  await planner('agent_registry.register', { agent_id: 'planner', capabilities: ['plan'] });
  await planner('agent_registry.heartbeat', { agent_id: 'planner' });
  await planner('agent_registry.get', { agent_id: 'planner' });
  await planner('agent_registry.list', { status: 'active' });
  await planner('agent_registry.find', { capability: 'plan' });
  await planner('session_manager.create', { session_id, metadata: { title: 'report' } });
  await planner('session_manager.get', { session_id });
  await planner('session_manager.list', {});

  const writer = connect();
  await writer('agent_registry.register', { agent_id: 'writer', capabilities: [] });
  const { cursor: after } = await writer('session_manager.join', { session_id });
  const subscription = { session_id, after, keys: ['outline'] };
  const { subscription_id } = await writer('context_coordinator.subscribe', subscription);
  await writer('context_coordinator.unsubscribe', { subscription_id });
  const { lock_token } = granted(
    await writer('memory_locker.acquire', { session_id, wait_ms: 5_000 }),
  );
  const queued = await planner('memory_locker.acquire', { session_id, wait_ms: 500, async: true });
  await writer('memory_locker.status', { session_id, resource: 'context' });
  await planner('memory_locker.cancel', {
    session_id,
    ticket: 'ticket' in queued ? queued.ticket : '',
  });
  const update = { outline: ['why', 'how'] };
  const cause = 'asked by planner';
  await writer('context_coordinator.update', { session_id, update, lock_token, cause });
  await writer('memory_locker.renew', { session_id, lock_token });
  await writer('memory_locker.release', { session_id, lock_token });
  await writer('memory_locker.acquire', { session_id });
  await planner('memory_locker.break', { session_id, resource: 'context' });
  await planner('context_coordinator.get', { session_id });
  await planner('context_coordinator.events', { session_id, after });
  await planner('context_coordinator.history', { session_id });

  const researcher = connect();
  await researcher('agent_registry.register', { agent_id: 'researcher', capabilities: [] });
  await researcher('session_manager.join', { session_id });
  const search = { tool: 'search', params: { q: 'leases' } };
  await researcher('tool_cache.put', { ...search, result: ['a', 'b'], tags: ['web'] });
  await researcher('tool_cache.get', search);
  await researcher('tool_cache.stats', {});
  await researcher('tool_cache.invalidate', { tags: ['web'] });
  const { claim = 0 } = await researcher('tool_cache.get', { ...search, claim: true });
  await researcher('tool_cache.abandon', { ...search, claim });
  const { chunk_id } = await researcher('shared_buffer.put', {
    session_id,
    content: 'long finding',
  });
  await researcher('shared_buffer.get', { session_id, chunk_id });
  await researcher('shared_buffer.list', { session_id });
  await researcher('shared_buffer.stats', { session_id });
  await researcher('shared_buffer.evict', { session_id, chunk_id });

  await planner('session_manager.grant', { session_id, member: 'reviewer', role: 'reader' });
  await planner('session_manager.revoke', { session_id, member: 'reviewer' });
  const { checkpoint_id } = await planner('session_manager.checkpoint', {
    session_id,
    name: 'draft',
  });
  await planner('session_manager.checkpoints', { session_id });
  await planner('session_manager.fork', { session_id, checkpoint_id, new_session_id: 'what-if' });
  await planner('session_manager.remove_checkpoint', { session_id, checkpoint_id });
  await planner('session_manager.suspend', { session_id });
  await planner('session_manager.resume', { session_id });
  await writer('session_manager.leave', { session_id });
  await planner('session_manager.end', { session_id });
  await planner('agent_registry.unregister', { agent_id: 'planner' });
  return checkpoint_id;
}

function granted(acquired: Result<'memory_locker.acquire'>) {
  if ('lock_token' in acquired) return acquired;
  throw new Error('the lock is not free');
}

/** One method without its schemas: the rest of the page shows them. */
function shortened(example: Example | undefined): Example | undefined {
  const { methods } = (example?.result ?? {}) as Result<'mcp.describe'>;
  const [first] = methods;
  return example && { ...example, result: { methods: [{ ...first, params: {}, result: {} }] } };
}
