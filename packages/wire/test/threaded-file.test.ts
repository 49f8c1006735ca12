import { describe, expect, it } from 'vitest';
import { ThreadedFile } from '../src/threaded-file.ts';

function open(path: string) {
  const replies: string[] = [];
  const lost: unknown[] = [];
  const file = new ThreadedFile<string, string>({
    module: new URL('./fixtures/thread-id-file.ts', import.meta.url),
    path,
    onReply: (reply) => replies.push(reply),
    onLost: (cause) => lost.push(cause),
  });
  const ask = async (request: string): Promise<readonly string[]> => {
    const count = replies.length;
    file.send(request);
    await expect.poll(() => replies.length).toBe(count + 1);
    return replies.at(-1)?.split(' ') ?? [];
  };
  const threadId = async () => Number((await ask('where'))[1]);
  return { file, replies, lost, ask, threadId };
}

describe('ThreadedFile', () => {
  it('serves all files in one thread, which outlives them', async () => {
    const [one, two] = [open('one'), open('two')];
    const thread = await one.threadId();
    expect(await two.threadId()).toBe(thread);
    await Promise.all([one.file.close(), two.file.close()]);
    const three = open('three');
    expect(await three.threadId()).toBe(thread);
    await three.file.close();
  });

  it('answers requests in order, also those sent right after it was opened', async () => {
    const { file, replies } = open('one');
    for (let count = 0; count < 100; count += 1) file.send('where');
    await file.close();
    expect(replies).toHaveLength(101);
    expect(replies.at(-1)).toBe('one closed');
  });

  it('does what can wait between requests, for as long as there is some', async () => {
    const { file, ask } = open('one');
    const steps = async (request: string) => Number((await ask(request))[2]);
    expect(await steps('litter')).toBe(0);
    const done = await steps('where');
    expect(done).toBeGreaterThan(0);
    expect(await steps('where')).toBe(done);
    await ask('litter');
    await file.close();
  });

  it('closes once, however often it is asked to', async () => {
    const { file, replies } = open('one');
    await Promise.all([file.close(), file.close()]);
    await file.close();
    expect(replies).toEqual(['one closed']);
  });

  it('reports the lost thread to every open file, and starts another one for the next', async () => {
    const [one, two, closed] = [open('one'), open('two'), open('closed')];
    const thread = await one.threadId();
    await closed.file.close();
    two.file.send('fail');
    await expect
      .poll(() => [one.lost, two.lost, closed.lost])
      .toMatchObject([[{ message: 'failed at two' }], [{ message: 'failed at two' }], []]);
    await Promise.all([one.file.close(), two.file.close()]);
    const next = open('next');
    expect(await next.threadId()).not.toBe(thread);
    await next.file.close();
  });
});
