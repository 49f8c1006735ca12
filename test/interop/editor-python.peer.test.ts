import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeWithPeer, preparePython, runProgram, temporaryFolder } from '@starloom/testkit';
import { childEnvironment } from '@starloom/wire';
import { expect, it } from 'vitest';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const LAUNCHER = here('../../packages/starloom/bin/starloom.js');
const prepare = () => preparePython(here('clients/python-editor/requirements.txt'));
const call = (name: string, args: object) => [{ type: 'tool_call', toolCall: { name, args } }];

describeWithPeer('an editor by the Python SDK', prepare, (command) => {
  it('[S4] works with an agent in its folder, on its own files', async () => {
    await using folder = await temporaryFolder();
    const script = [
      call('fs:read_file', { path: 'a.txt' }),
      call('fs:edit_file', { path: 'a.txt', old_text: 'old', new_text: 'new' }),
      'Done.',
    ];
    const agent = {
      name: 'pair',
      provider: { kind: 'scripted', script },
      plugins: [{ name: 'fs', config: { roots: ['.'] } }],
    };
    await writeFile(join(folder.path, 'agent.json'), JSON.stringify(agent));
    await writeFile(join(folder.path, 'agent.toml'), '[security.tools]\n"fs:edit_file" = "ask"\n');
    await writeFile(join(folder.path, 'a.txt'), 'old');
    const program = JSON.stringify([process.execPath, LAUNCHER, 'agent', 'run', '--acp']);
    const { code, stdout, stderr } = await runProgram({
      command,
      args: [here('clients/python-editor/editor.py'), program, folder.path, 'Make a.txt new.'],
      env: childEnvironment({ extra: { STARLOOM_HOME: join(folder.path, 'home') } }),
    });
    expect(code, stderr).toBe(0);
    const seen = JSON.parse(stdout);
    expect(seen).toMatchObject({
      agent: 'pair',
      modes: ['default', 'read'],
      stop: 'end_turn',
      asked: ['fs:edit_file a.txt'],
    });
    expect(seen.diffs).toContainEqual(['unsaved: old', 'unsaved: new']);
    expect(await readFile(join(folder.path, 'a.txt'), 'utf8')).toBe('unsaved: new');
  });
});
