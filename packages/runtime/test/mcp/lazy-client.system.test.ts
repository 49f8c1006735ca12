import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram, temporaryFolder } from '@starloom/testkit';
import { expect, it } from 'vitest';

const RUNTIME = new URL('../../src/index.ts', import.meta.url).href;

/** Opens the agent of a folder, and prints which modules of an MCP client were loaded for it. */
const PROGRAM = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({
    load(url, context, next) {
      loaded.push(url);
      return next(url, context);
    },
  });
  const { openAgent } = await import(${JSON.stringify(RUNTIME)});
  const agent = await openAgent({ path: process.argv[1] });
  await agent.turn('hello');
  await agent.close();
  const isClient = (url) => /packages\\/mcp-client\\/|modelcontextprotocol\\/client/.test(url);
  console.log(JSON.stringify(loaded.filter(isClient)));
`;

async function loadedFor(toml: string): Promise<string[]> {
  await using folder = await temporaryFolder();
  const provider = { kind: 'scripted', script: ['hello'] };
  const agent = { name: 'small', version: '1.0.0', provider };
  await writeFile(join(folder.path, 'agent.json'), JSON.stringify(agent));
  await writeFile(join(folder.path, 'agent.toml'), toml);
  const { code, stdout, stderr } = await runProgram({
    command: process.execPath,
    args: [
      '--conditions=@starloom/source',
      '--input-type=module',
      '--eval',
      PROGRAM,
      '--',
      folder.path,
    ],
  });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

it('an agent loads the MCP client only when it has servers', async () => {
  expect(await loadedFor('')).toEqual([]);
  const server = ['[[mcp.servers]]', 'name = "one"', 'command = ["false"]'].join('\n');
  expect(await loadedFor(server)).not.toEqual([]);
});
