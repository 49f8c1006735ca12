import { appendFile, mkdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { temporaryFolder } from '@starloom/testkit';
import { spawnProcess } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { callTools, echo, openWorld, say, scripted, textOf, tool, until } from './world.ts';

const AGENT = join(import.meta.dirname, 'session-agent.ts');

function sessionFile(state: string, id: string): string {
  return join(state, 'agents', 'tester', 'sessions', `${id}.jsonl`);
}

describe('sessions', () => {
  it('go on where they were after the agent was killed without warning', async () => {
    await using folder = await temporaryFolder();
    const command = process.execPath;
    const args = ['--conditions=@starloom/source', AGENT, folder.path];
    await using child = await spawnProcess({ command, args });
    for await (const line of child.lines()) {
      if (line === 'hanging') break;
      expect(line).toMatch(/^said \d$/);
    }
    child.signal('SIGKILL');
    await child.exited;

    const provider = scripted('I remember.');
    await using world = await openWorld({ provider, stateFolder: folder.path });
    await world.agent.turn('Do you?', { sessionId: 'long' });
    const blocks = provider.asked[0]?.context.blocks ?? [];
    const words = blocks.map(({ role, segments }) => `${role}: ${textOf(segments)}`);
    expect(words).toEqual([
      'user: message 1',
      'assistant: answer 1',
      'user: message 2',
      'assistant: answer 2',
      'user: hang',
      'assistant: ',
      'tool: ',
    ]);
    const [call] = blocks[5]?.segments ?? [];
    const [answer] = blocks[6]?.segments ?? [];
    expect(answer?.toolResult).toMatchObject({ id: call?.toolCall?.id, isError: true });
  });

  it('keep labels and lineage over a restart', async () => {
    await using folder = await temporaryFolder();
    const foreign = { ...echo, untrusted: true };
    const script = scripted(
      callTools({ name: 'test:echo', args: { text: 'from a page' } }),
      'Read.',
    );
    const options = { tools: [foreign], stateFolder: folder.path };
    {
      await using world = await openWorld({ ...options, provider: script });
      await world.agent.turn('Read it.', { sessionId: 'one' });
    }
    const provider = scripted('Still tainted.');
    await using world = await openWorld({ ...options, provider });
    await world.agent.turn('And now?', { sessionId: 'one' });
    const [, , result, read] = provider.asked[0]?.context.blocks ?? [];
    expect(result).toMatchObject({ trust: 'untrusted', type: 'data' });
    expect(read).toMatchObject({ trust: 'untrusted', taintedBy: [result?.id] });
  });

  it('tolerate a broken last line, and write on behind it', async () => {
    await using folder = await temporaryFolder();
    const stateFolder = folder.path;
    const file = sessionFile(stateFolder, 'one');
    {
      await using world = await openWorld({ provider: scripted('First.'), stateFolder });
      await world.agent.turn('Hello.', { sessionId: 'one' });
    }
    await appendFile(file, '{"kind":"block","block":{"id":"half');
    {
      await using world = await openWorld({ provider: scripted('Second.'), stateFolder });
      await world.agent.turn('Again.', { sessionId: 'one' });
    }
    await using world = await openWorld({ provider: scripted(), stateFolder });
    const kept = await world.agent.history('one');
    expect(kept.map(({ segments }) => textOf(segments))).toEqual([
      'Hello.',
      'First.',
      'Again.',
      'Second.',
    ]);
  });

  it('are files for their owner alone, listed with the newest first', async () => {
    await using folder = await temporaryFolder();
    const provider = scripted('One.', 'Two.');
    await using world = await openWorld({ provider, stateFolder: folder.path });
    await world.agent.turn('Hello.', { sessionId: 'one' });
    await world.agent.turn('Hello.', { sessionId: 'two' });
    const { mode } = await stat(sessionFile(folder.path, 'one'));
    expect(mode & 0o777).toBe(0o600);
    expect((await world.agent.sessions()).map(({ id }) => id).sort()).toEqual(['one', 'two']);
    const lines = (await readFile(sessionFile(folder.path, 'one'), 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).kind)).toEqual(['session', 'block', 'block']);
  });

  it('leave no file before anything is said in them', async () => {
    await using folder = await temporaryFolder();
    await using world = await openWorld({ provider: scripted('One.'), stateFolder: folder.path });
    expect(await world.agent.history('silent')).toEqual([]);
    expect(await world.agent.sessions()).toEqual([]);
    const { sessionId } = await world.agent.turn('Hello.');
    expect((await world.agent.sessions()).map(({ id }) => id)).toEqual([sessionId]);
  });

  it('hold what was said before the model is asked, and its calls before they run', async () => {
    await using folder = await temporaryFolder();
    const file = sessionFile(folder.path, 'one');
    const written: number[] = [];
    const look = async () => written.push((await readFile(file, 'utf8')).split('\n').length - 1);
    const provider = scripted(
      async () => {
        await look();
        return callTools({ name: 'test:look' });
      },
      async () => {
        await look();
        return say('Seen.');
      },
    );
    const tools = [tool('test:look', async () => String(await look()))];
    await using world = await openWorld({ provider, tools, stateFolder: folder.path });
    await world.agent.turn('Look.', { sessionId: 'one' });
    expect(written).toEqual([2, 3, 4]);
  });

  it('go on in memory when the disk refuses, and say so', async () => {
    await using folder = await temporaryFolder();
    const home = dirname(dirname(sessionFile(folder.path, 'one')));
    await mkdir(home, { recursive: true });
    await symlink(join(folder.path, 'gone', 'for', 'good'), join(home, 'sessions'));
    const provider = scripted('One.', 'Two.');
    await using world = await openWorld({ provider, stateFolder: folder.path });
    await world.agent.turn('Hello.', { sessionId: 'one' });
    expect(world.eventsOf('SAFETY:WARNING')).toMatchObject([{ reason: 'session_not_saved' }]);
    await world.agent.turn('Again.', { sessionId: 'one' });
    expect(provider.asked[1]?.context.blocks).toHaveLength(2);

    await rm(join(home, 'sessions'));
    await world.agent.turn('/help', { sessionId: 'one' });
    const lines = (await readFile(sessionFile(folder.path, 'one'), 'utf8')).trim().split('\n');
    expect(lines).toHaveLength(5);
  });

  it('files that cannot be read are refused, and left as they are', async () => {
    await using folder = await temporaryFolder();
    await mkdir(sessionFile(folder.path, 'one'), { recursive: true });
    await using world = await openWorld({ provider: scripted(), stateFolder: folder.path });
    await expect(world.agent.turn('Hello.', { sessionId: 'one' })).rejects.toMatchObject({
      code: 'BAD_INPUT',
      details: { reason: 'session_unreadable', fix: expect.any(String) },
    });
  });

  it.each(['../escape', '', '.hidden', 'a/b', 'x'.repeat(129)])(
    'refuse the id %j',
    async (sessionId) => {
      await using world = await openWorld({ provider: scripted() });
      await expect(world.agent.turn('Hello.', { sessionId })).rejects.toMatchObject({
        code: 'BAD_INPUT',
        details: { reason: 'session_id' },
      });
    },
  );

  it('take turns one after the other, in the order in which they came', async () => {
    const gate = Promise.withResolvers<void>();
    const provider = scripted(
      async () => {
        await gate.promise;
        return 'First.';
      },
      'Second.',
      'Third.',
    );
    await using world = await openWorld({ provider });
    const turns = ['one', 'two', 'three'].map((text) => world.agent.turn(text, { sessionId: 's' }));
    await until(() => provider.asked.length === 1);
    gate.resolve();
    await Promise.all(turns);
    expect(provider.asked.map(({ prompt }) => prompt)).toEqual(['one', 'two', 'three']);
    expect(provider.asked[2]?.context.blocks).toHaveLength(4);
  });

  it('let a turn that waits be cancelled, without a trace of it', async () => {
    const gate = Promise.withResolvers<void>();
    const provider = scripted(async () => {
      await gate.promise;
      return 'First.';
    }, 'Third.');
    await using world = await openWorld({ provider });
    const controller = new AbortController();
    const first = world.agent.turn('one', { sessionId: 's' });
    const second = world.agent.turn('two', { sessionId: 's', signal: controller.signal });
    const third = world.agent.turn('three', { sessionId: 's' });
    controller.abort();
    await expect(second).rejects.toMatchObject({ code: 'CANCELLED' });
    gate.resolve();
    await Promise.all([first, third]);
    const kept = await world.agent.history('s');
    expect(kept.map(({ segments }) => textOf(segments))).toEqual([
      'one',
      'First.',
      'three',
      'Third.',
    ]);
  });

  it('never cross, a thousand at the same time in one process', async () => {
    const provider = scripted();
    provider.generate = async (prompt, { blocks = [], sessionId }) => {
      const said = blocks.map(({ segments }) => textOf(segments)).filter((text) => text !== '');
      const [own] = (prompt || said[0] || '').split(' ');
      expect(said.every((text) => text.startsWith(`${own} `))).toBe(true);
      expect(sessionId).toBe(own);
      const isFirst = prompt !== '' && blocks.length === 0;
      return isFirst
        ? callTools({ name: 'test:echo', args: { text: `${own} echoed` } })
        : say(`${own} answered after ${blocks.length}`);
    };
    await using world = await openWorld({ provider, tools: [echo] });
    const ids = Array.from({ length: 1_000 }, (_, index) => `s${index}`);
    const run = async (sessionId: string) => {
      const first = await world.agent.turn(`${sessionId} hello`, { sessionId });
      const second = await world.agent.turn(`${sessionId} again`, { sessionId });
      return [textOf(first.segments), textOf(second.segments)];
    };
    const answers = await Promise.all(ids.map(run));
    expect(answers).toEqual(ids.map((id) => [`${id} answered after 3`, `${id} answered after 4`]));
    const results = world.eventsOf('EXEC:TOOL_RESULT');
    expect(results).toHaveLength(1_000);
  });
});
