import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { World } from '../../coordination/test/support/world.ts';
import { serve } from './support/small-gateway.ts';

const ROOT = new URL('../../../', import.meta.url);
const SNIPPET = /```ts\n(.*?)```/gs;

it('runs the program that docs/coordination-client.md shows, from its first line to its last', async () => {
  await using world = new World();
  const gateway = await serve(world);
  const doc = await readFile(new URL('docs/coordination-client.md', ROOT), 'utf8');
  const program = [...doc.matchAll(SNIPPET)].map(([, code]) => code).join('\n');
  const args = ['--conditions=@starloom/source', '--input-type=module-typescript', '-'];
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(ROOT),
    env: { STARLOOM_URL: `http://127.0.0.1:${gateway.port}`, STARLOOM_KEY: 'secret' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(program);
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  expect(code).toBe(0);
  const seen = ['On leases', "'when'", 'done', 'ben is gone', 'no more connections'];
  expect(seen.filter((words) => said.includes(words))).toEqual(seen);
  await gateway.close();
});
