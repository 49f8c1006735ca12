import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { silentLog } from '@starloom/core';
import { exampleEnvelope } from '@starloom/core/testing';
import { describeWithPeer, requireProgram } from '@starloom/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { AgentWorld, eventually, runCall } from './fixtures/agent-world.ts';
import { EditorWorld, editorAgent } from './fixtures/editor-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };
const FINAL = (words: string) => `printf '{"type":"final","data":{"answer":"%s"}}\\n' "${words}"`;

const findBubblewrap = () => requireProgram({ names: ['bwrap'], package: 'bubblewrap' });

describeWithPeer('programs in bubblewrap', findBubblewrap, () => {
  it('[G25] write to the folder they run in and nowhere else', async () => {
    const world = AgentWorld.open();
    for (const name of ['work', 'more', 'other']) mkdirSync(world.file(name));
    const write = ['work', 'more', 'other', '../etc'].map(
      (name) => `touch ${world.file(name)}/made 2> /dev/null && printf '${name} '`,
    );
    const options = {
      isolation: 'required',
      cwd: world.file('work'),
      writable: [world.file('more')],
    };
    const agent = world.script(FINAL(`$(${write.join('; ')})`), { options });
    expect((await runCall(agent)).answer).toBe('work more ');
    expect(existsSync(world.file('other/made'))).toBe(false);
    const { capabilities } = await agent.describe(CONTEXT);
    expect(capabilities[0]?.annotations).toEqual({ isolation: 'bubblewrap' });
    expect((await agent.health(CONTEXT)).status).toBe('online');
  });

  it('end with everything they started, also what left its group and its environment', async () => {
    const world = AgentWorld.open();
    const token = `detached-${process.pid}-${Date.now()}`;
    const loop = `touch started; while :; do sleep 0.1; done; : ${token}`;
    const detach = `env -i PATH="$PATH" setsid sh -c '${loop}' > /dev/null 2>&1 < /dev/null &`;
    const script = `${detach} while ! [ -e started ]; do sleep 0.05; done; ${FINAL('left')}`;
    const options = { isolation: 'required', cwd: world.folder };
    expect((await runCall(world.script(script, { options }))).answer).toBe('left');
    expect(existsSync(world.file('started'))).toBe(true);
    await expect.poll(() => commandsWith(token), { timeout: 20_000 }).toEqual([]);
  });

  it('start from below /tmp, and see nothing else of it', async () => {
    const world = AgentWorld.open();
    const place = mkdtempSync('/tmp/starloom isolated ü-');
    onTestFinished(() => rmSync(place, { recursive: true }));
    for (const name of ['bin', 'lib', 'keys']) mkdirSync(join(place, name));
    writeFileSync(join(place, 'lib/words'), 'whole');
    writeFileSync(join(place, 'keys/key'), 'secret');
    const program = join(place, 'lib/program');
    const look = `cat "$(dirname "$1")/words" "${place}/keys/key" 2> /dev/null; ls /tmp | wc -l`;
    writeFileSync(
      program,
      `#!/bin/sh\n${FINAL(`$(${look}; touch "$1.made" 2> /dev/null && printf made)`)}\n`,
    );
    chmodSync(program, 0o755);
    symlinkSync('../lib/program', join(place, 'bin/program'));
    const isolated = { isolation: 'required', cwd: world.folder, hidden: [join(place, 'keys')] };
    const agents = [
      { command: join(place, 'bin/program'), args: [program] },
      { command: 'program', args: [program], env: { PATH: `${join(place, 'bin')}:/usr/bin:/bin` } },
      { command: '/bin/sh', args: [program, program] },
    ];
    for (const agent of agents) {
      const adapter = world.adapter({ ...agent, options: isolated });
      onTestFinished(() => adapter.close?.());
      expect((await runCall(adapter)).answer).toBe('whole2');
    }
    expect(existsSync(`${program}.made`)).toBe(false);
  });

  it('see neither hidden folders, nor our processes, nor the network when it is cut', async () => {
    const world = AgentWorld.open();
    mkdirSync(world.file('keys'));
    writeFileSync(world.file('keys/key'), 'secret');
    const look = [
      `cat ${world.file('keys')}/key 2> /dev/null`,
      `kill -0 ${process.pid} 2> /dev/null && printf ours`,
      '[ $(grep -c : /proc/net/dev) -gt 1 ] && printf net',
    ];
    const options = {
      isolation: 'required',
      cwd: world.folder,
      hidden: [world.file('keys')],
      network: false,
    };
    const script = FINAL(`$(${look.join('; ')})`);
    expect((await runCall(world.script(script))).answer).toContain('secretours');
    expect((await runCall(world.script(script, { options }))).answer).toBe('');
    expect(readFileSync(world.file('keys/key'), 'utf8')).toBe('secret');
  });

  it('end with all they started when the call is cancelled', async () => {
    const world = AgentWorld.open();
    const script = `setsid sleep 1000 & sleep 1000 & echo '{"type":"token","data":{"text":"a"}}'; wait`;
    const agent = world.script(script, { options: { isolation: 'required', cwd: world.folder } });
    for await (const { type } of agent.call(exampleEnvelope('work'), CONTEXT)) {
      if (type === 'token') break;
    }
    await expect.poll(() => world.running(), eventually).toEqual([]);
  });

  it('serve as editor agents, too', async () => {
    const world = EditorWorld.open();
    const agent = world.opened({ ...editorAgent(), options: { isolation: 'required' } });
    expect((await runCall(agent, 'echo inside')).answer).toBe('inside');
    await agent.close();
    expect(world.running()).toEqual([]);
  });
});

/** The command lines of running processes that hold this word. */
function commandsWith(word: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const command = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
      return command.includes(word) ? [command] : [];
    } catch {
      return [];
    }
  });
}
