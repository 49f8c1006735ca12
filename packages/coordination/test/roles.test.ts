// Which role every method takes. A row is missing as soon as there is a new method.

import { describe, expect, it } from 'vitest';
import { METHODS, type MethodName } from '../src/index.ts';
import { ROLES, type Role } from '../src/session/session-record.ts';
import { type Client, World } from './support/world.ts';

/** `anybody` needs no session. */
type Needed = Role | 'anybody';
type Given = Awaited<ReturnType<typeof prepare>>['given'];
type Params = (given: Given) => object;
type Row = readonly [needed: Needed, params: Params];

const nothing: Params = () => ({});
const session: Params = ({ session_id }) => ({ session_id });
const chunk: Params = ({ session_id, chunk_id }) => ({ session_id, chunk_id });
const lock: Params = ({ session_id, lock_token }) => ({ session_id, lock_token, resource: 'own' });
const cached: Params = ({ session_id }) => ({ session_id, scope: 'session', tool: 'search' });
const inSession =
  (more: object): Params =>
  (given) => ({ ...session(given), ...more });
const inCache =
  (more: object): Params =>
  (given) => ({ ...cached(given), ...more });

const ROWS: Readonly<Record<MethodName, readonly Row[]>> = {
  'mcp.discover': [['anybody', nothing]],
  'mcp.status': [['anybody', nothing]],
  'mcp.describe': [['anybody', nothing]],
  'agent_registry.register': [['anybody', () => ({ agent_id: 'new', capabilities: [] })]],
  'agent_registry.heartbeat': [['anybody', nothing]],
  'agent_registry.unregister': [['anybody', nothing]],
  'agent_registry.get': [['anybody', () => ({ agent_id: 'owner' })]],
  'agent_registry.list': [
    ['anybody', nothing],
    ['reader', session],
  ],
  'agent_registry.find': [['anybody', () => ({ capability: 'plan' })]],
  'session_manager.create': [['anybody', nothing]],
  'session_manager.join': [['anybody', session]],
  'session_manager.leave': [['reader', session]],
  'session_manager.get': [['reader', session]],
  'session_manager.list': [['anybody', nothing]],
  'session_manager.end': [['owner', session]],
  'session_manager.grant': [
    ['owner', inSession({ member: 'x', role: 'reader' })],
    ['owner', inSession({ principal: 'x', role: 'reader' })],
  ],
  'session_manager.revoke': [['owner', inSession({ member: 'x' })]],
  'session_manager.suspend': [['owner', session]],
  'session_manager.resume': [['owner', session]],
  'session_manager.checkpoint': [['writer', session]],
  'session_manager.checkpoints': [['reader', session]],
  'session_manager.remove_checkpoint': [
    ['owner', ({ session_id, checkpoint_id }) => ({ session_id, checkpoint_id })],
  ],
  'session_manager.fork': [['reader', session]],
  'context_coordinator.get': [
    ['reader', session],
    ['reader', inSession({ at_version: 1 })],
  ],
  'context_coordinator.update': [
    ['writer', inSession({ update: { a: 1 } })],
    ['writer', inSession({ update: { a: 1 }, with_lock: true })],
  ],
  'context_coordinator.subscribe': [['reader', session]],
  'context_coordinator.unsubscribe': [['anybody', () => ({ subscription_id: 'none' })]],
  'context_coordinator.events': [['reader', session]],
  'context_coordinator.history': [['reader', session]],
  'memory_locker.acquire': [
    ['writer', session],
    ['reader', inSession({ mode: 'shared' })],
  ],
  'memory_locker.renew': [['reader', lock]],
  'memory_locker.release': [['reader', lock]],
  'memory_locker.cancel': [['reader', inSession({ ticket: 'none' })]],
  'memory_locker.status': [['reader', session]],
  'memory_locker.break': [['owner', inSession({ resource: 'own' })]],
  'tool_cache.get': [
    ['anybody', () => ({ tool: 'search' })],
    ['reader', cached],
  ],
  'tool_cache.put': [
    ['anybody', () => ({ tool: 'search', result: 1 })],
    ['writer', inCache({ result: 1 })],
  ],
  'tool_cache.abandon': [['reader', inCache({ claim: 1 })]],
  'tool_cache.invalidate': [
    ['anybody', () => ({ tool: 'search' })],
    ['writer', cached],
    ['writer', inSession({ scope: 'session', tags: ['x'] })],
  ],
  'tool_cache.stats': [
    ['anybody', nothing],
    ['reader', inSession({ scope: 'session' })],
    ['writer', inSession({ scope: 'session', reset: true })],
  ],
  'shared_buffer.put': [['writer', inSession({ content: 'more' })]],
  'shared_buffer.get': [['reader', chunk]],
  'shared_buffer.list': [['reader', session]],
  'shared_buffer.evict': [
    ['writer', chunk],
    ['writer', inSession({ bytes: 1 })],
  ],
  'shared_buffer.stats': [
    ['reader', session],
    ['writer', inSession({ reset: true })],
  ],
};

/** A session with something of everything in it, and an agent in it by a role, or outside. */
async function prepare(world: World, role: Role | undefined) {
  const owner = await world.agent('owner');
  const agent = await world.agent('agent');
  const { session_id } = await owner.call('session_manager.create', { mode: 'cas' });
  if (role) await agent.call('session_manager.join', { session_id, role });
  await owner.call('context_coordinator.update', { session_id, update: { a: 0 } });
  const { chunk_id } = await owner.call('shared_buffer.put', { session_id, content: 'long' });
  const { checkpoint_id } = await owner.call('session_manager.checkpoint', { session_id });
  const request = { session_id, resource: 'own', mode: 'shared' } as const;
  const lease = await (role ? agent : owner).call('memory_locker.acquire', request);
  const lock_token = 'lock_token' in lease ? lease.lock_token : expect.fail('not granted');
  return { agent, given: { session_id, chunk_id, checkpoint_id, lock_token } };
}

async function ask(client: Client, method: string, params: object) {
  const answer = await client.peer.handle({ jsonrpc: '2.0', id: 1, method, params });
  if (answer === undefined || !('id' in answer)) return expect.fail(`${method} had no answer`);
  return 'error' in answer ? answer.error.data.reason : 'done';
}

const names = Object.keys(METHODS) as MethodName[];

describe.each(names)('%s', (method) => {
  it.each(ROWS[method])('is for %s and above, and for nobody below', async (needed, params) => {
    const answers = [undefined, ...ROLES].map(async (role) => {
      await using world = new World();
      const { agent, given } = await prepare(world, role);
      return [role ?? 'none', await ask(agent, method, params(given))];
    });
    expect(Object.fromEntries(await Promise.all(answers))).toEqual(expectedAnswers(needed));
  });

  it('[C14] reaches no agent outside of the session, not even of the same principal', async () => {
    for (const [, params] of ROWS[method]) {
      await using world = new World();
      const bystander = await world.agent('bystander');
      const session_id = 'elsewhere';
      await bystander.call('session_manager.create', { session_id });
      await bystander.call('context_coordinator.subscribe', { session_id });
      const { agent, given } = await prepare(world, 'owner');
      expect(await ask(agent, method, params(given))).toBe('done');
      const update = { a: 1 };
      await bystander.call('context_coordinator.update', { session_id, update, with_lock: true });
      await expect.poll(() => bystander.pushes).toMatchObject([{ params: { session_id, update } }]);
    }
  });

  it('says that a role may be too low exactly when it may', () => {
    const mayBeTooLow = ROWS[method].some(([needed]) => needed === 'writer' || needed === 'owner');
    const errors: readonly string[] = METHODS[method].errors;
    expect(errors.includes('role_too_low')).toBe(mayBeTooLow);
  });
});

function expectedAnswers(needed: Needed) {
  if (needed === 'anybody') return { none: 'done', reader: 'done', writer: 'done', owner: 'done' };
  const answerFor = (role: Role) =>
    ROLES.indexOf(role) < ROLES.indexOf(needed) ? 'role_too_low' : 'done';
  return {
    none: 'not_found',
    ...Object.fromEntries(ROLES.map((role) => [role, answerFor(role)])),
  };
}
