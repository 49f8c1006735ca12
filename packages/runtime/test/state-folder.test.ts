import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@starloom/testkit';
import { afterEach, expect, it, vi } from 'vitest';
import { agentStateFolder } from '../src/index.ts';
import { echo, openWorld, scripted } from './core/world.ts';

afterEach(() => vi.unstubAllEnvs());

it('an agent that keeps nothing makes no folder before it must, and leaves none', async () => {
  await using folder = await temporaryFolder();
  vi.stubEnv('TMPDIR', folder.path);
  const world = await openWorld({ provider: scripted('Hi.'), tools: [echo] });
  await world.agent.turn('Hello.');
  expect(await readdir(folder.path)).toEqual([]);
  await world.agent.turn('/echo hello');
  const [made = ''] = await readdir(folder.path);
  expect((await stat(join(folder.path, made))).mode & 0o777).toBe(0o700);
  await world.agent.close();
  expect(await readdir(folder.path)).toEqual([]);
});

it('an agent that keeps something keeps it below its own name', async () => {
  await using folder = await temporaryFolder();
  const { path: stateFolder } = folder;
  await using world = await openWorld({ provider: scripted('Hi.'), stateFolder });
  await world.agent.turn('Hello.', { sessionId: 'mine' });
  const own = agentStateFolder(stateFolder, world.agent.guard.agentId);
  expect(await readdir(join(own, 'sessions'))).toEqual(['mine.jsonl']);
});
