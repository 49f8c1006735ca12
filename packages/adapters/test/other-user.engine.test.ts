import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describeWithPeer, type ProgramResult } from '@starloom/testkit';
import { expect, it } from 'vitest';
import { AgentWorld, eventually, runCall } from './fixtures/agent-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const FINAL = (words: string) => `printf '{"type":"final","data":{"answer":"%s"}}\\n' "${words}"`;
const OPTIONS = { user: 'nobody', isolation: 'required', cwd: '/' };

const findRoot = async (): Promise<ProgramResult> =>
  process.getuid?.() === 0
    ? { found: true, path: '/' }
    : { found: false, reason: 'tests do not run as root', howToInstall: 'run them as root' };

describeWithPeer('programs of another user', findRoot, () => {
  it('[G25] have the rights, the groups and the home of that user, and no more of our environment', async () => {
    const world = AgentWorld.open();
    chmodSync(world.folder, 0o755);
    mkdirSync(world.file('ours'));
    writeFileSync(world.file('key'), 'secret', { mode: 0o600 });
    process.env.PUSH_TEST_SECRET = 'inherited';
    const look = [
      'printf "$(id -un) $(id -G) $HOME $PUSH_TEST_SECRET."',
      `cat ${world.file('key')} 2> /dev/null`,
      `touch ${world.file('ours/made')} 2> /dev/null`,
    ];
    const agent = world.script(FINAL(`$(${look.join('; ')})`), { options: OPTIONS });
    const { answer } = await runCall(agent);
    delete process.env.PUSH_TEST_SECRET;
    expect(answer).toMatch(/^nobody 65534 \/nonexistent \.$/);
    expect(existsSync(world.file('ours/made'))).toBe(false);
    const { capabilities } = await agent.describe(CONTEXT);
    expect(capabilities[0]?.annotations).toEqual({ isolation: 'user' });
    expect((await agent.health(CONTEXT)).status).toBe('online');
  });

  it('end with all they started when the call is cancelled', async () => {
    const world = AgentWorld.open();
    const script = `setsid sleep 1000 & sleep 1000 & echo '{"type":"token","data":{"text":"a"}}'; wait`;
    const agent = world.script(script, { options: OPTIONS });
    for await (const { type } of agent.call(exampleEnvelope('work'), CONTEXT)) {
      if (type === 'token') break;
    }
    await expect.poll(() => world.running(), eventually).toEqual([]);
  });
});
