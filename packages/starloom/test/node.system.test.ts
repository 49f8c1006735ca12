import { childEnvironment, spawnProcess } from '@starloom/wire';
import { expect, it } from 'vitest';
import { LAUNCHER } from './run-starloom.ts';
import { NODE_FILES, startGateway, startNode } from './running-gateway.ts';

it('[G38] a node serves its agents, ends its calls when it is killed, and leaves when it is stopped', async () => {
  await using gateway = await startGateway({ ...NODE_FILES, 'agents.yaml': '[]' });
  const say = async (task: string) => {
    const { stdout } = await gateway.run('call', 'echo', 'say', task, '--json');
    return JSON.parse(stdout);
  };
  {
    await using node = await startNode([gateway.url]);
    const call = await spawnProcess({
      command: process.execPath,
      args: [LAUNCHER, 'call', 'echo', 'say', 'slower', '--stream', '--json'],
      cwd: gateway.folder,
      env: childEnvironment({ extra: { STARLOOM_HOME: gateway.home } }),
    });
    for await (const line of call.lines()) {
      if (JSON.parse(line).type === 'token') node.signal('SIGKILL');
    }
    expect((await call.exited).code).toBe(5);
    expect(JSON.parse(call.stderrTail())).toMatchObject({
      error: { code: 'AGENT_OFFLINE', details: { reason: 'link_lost' } },
    });
  }
  await using node = await startNode([gateway.url]);
  expect(await say('again')).toMatchObject({
    result: { answer: 'again' },
    attempts: [{ node_id: 'n1', ok: true }],
  });
  node.signal('SIGTERM');
  expect((await node.exited).code).toBe(0);
  expect(JSON.parse((await gateway.run('agents', '--json')).stdout).agents).toEqual([]);
});
