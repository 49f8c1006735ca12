// Attacks by one principal on what belongs to another.

import { type Attack, Counts, loops, problemsIf, times } from '../attack.ts';
import { ask, openAgent, post, readCalled, toolCall } from '../http-client.ts';

const CHUNK = 'x'.repeat(1024 ** 2);
const CHUNKS_PER_SECOND = 100;

export const foreignTrace: Attack = {
  about: "another caller's trace id with depth 6",
  async run(target) {
    const counts = new Counts();
    const args = { agent_id: 'good', capability: 'echo', task: 'hello' };
    const body = toolCall('fabric.call', args);
    const call = async (key: string, id: string, depth: number) => {
      const headers = { 'x-openstarry-trace-id': id, 'x-openstarry-depth': String(depth) };
      const called = readCalled(await post(target.url, { key, headers, body }));
      return called?.ok ? 'ok' : (called?.error?.code ?? 'unanswered');
    };
    await loops(target, 4, async () => {
      const id = crypto.randomUUID();
      counts.add(`before_${await call(target.ordinaryKey, id, 1)}`);
      counts.add(`attack_${await call(target.key, id, 6)}`);
      counts.add(`after_${await call(target.ordinaryKey, id, 1)}`);
    });
    const turns = counts.total / 3;
    return {
      operations: turns,
      counts: counts.counts,
      problems: problemsIf({
        'depth 6 was served': counts.of('attack_RECURSION_LIMIT') < turns,
        "a caller's own trace was refused after the attack": counts.of('after_ok') < turns,
      }),
    };
  },
};

export const fullStore: Attack = {
  about: 'one principal stores a megabyte again and again, and ends its sessions',
  async run(target) {
    const { url, key } = target;
    const counts = new Counts();
    const agent = openAgent(8);
    const count = Math.max(1, Math.round(target.seconds)) * CHUNKS_PER_SECOND;
    const sessions = await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const params = { agent_id: `hoarder${n}`, mode: 'cas' };
        const { result } = await ask(url, key, 'session_manager.create', params, agent);
        return { session_id: String(result?.session_id), agent_id: `hoarder${n}` };
      }),
    );
    await times(count, 8, async (n) => {
      const session = sessions[n % sessions.length];
      const [method, what] =
        n % 2 === 0
          ? ['shared_buffer.put', { content: `${n}${CHUNK}` }]
          : ['context_coordinator.update', { update: { [`key${n % 8}`]: `${n}${CHUNK}` } }];
      const said = await ask(url, key, String(method), { ...session, ...Object(what) }, agent);
      counts.add(said.result ? 'accepted' : String(said.error?.code ?? 'unanswered'));
    });
    // What is stored takes memory as long as it is stored; what was ended must not.
    for (const session of sessions) await ask(url, key, 'session_manager.end', session, agent);
    agent.destroy();
    return { operations: count, counts: counts.counts, problems: [] };
  },
};
