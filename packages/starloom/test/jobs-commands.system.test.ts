import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningGateway, startGateway } from './running-gateway.ts';

describe('commands about jobs', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });
  const linesOf = (stdout: string) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('[G4] start a job, follow it to its end, and show its result', async () => {
    const started = await gateway.run('call', 'echo', 'say', 'slow', '--async', '--json');
    const { job_id, state } = JSON.parse(started.stdout);
    expect(state).toBe('queued');
    const watched = await gateway.run('jobs', 'watch', job_id);
    expect(watched.code).toBe(0);
    const lines = linesOf(watched.stdout);
    const cursors = lines.slice(0, -1).map(({ cursor }) => cursor);
    expect(cursors).toEqual(cursors.map((_, index) => index + 1));
    expect(lines.at(-1)).toMatchObject({ job: { job_id, state: 'succeeded' } });
    const rest = await gateway.run('jobs', 'watch', job_id, '--after', String(cursors.length - 1));
    expect(linesOf(rest.stdout)).toMatchObject([{ type: 'final' }, { job: { job_id } }]);
    const shown = await gateway.run('jobs', 'show', job_id, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({
      job: { result: { result: { answer: 'slow' } } },
    });
    const listed = await gateway.run('jobs', '--state', 'succeeded');
    expect(listed.stdout).toContain(job_id);
  });

  it('[G7] say by their exit code what went wrong', async () => {
    const started = await gateway.run('call', 'echo', 'say', 'fail', '--async', '--json');
    const { job_id } = JSON.parse(started.stdout);
    expect(await gateway.run('jobs', 'watch', job_id)).toMatchObject({ code: 7 });
    expect(await gateway.run('jobs', 'cancel', job_id)).toMatchObject({ code: 2 });
    expect(await gateway.run('jobs', 'show', 'nope')).toMatchObject({ code: 4 });
    const again = await gateway.run('jobs', 'retry', job_id, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ job: { retry_of: job_id, state: 'queued' } });
    expect(await gateway.run('jobs', 'input', job_id, 'q=yes')).toMatchObject({ code: 2 });
  });

  it('make one call of repetitions with the same key', async () => {
    const asked = ['call', 'echo', 'say', 'good day', '--key', 'k1', '--json'];
    const first = JSON.parse((await gateway.run(...asked)).stdout);
    const second = JSON.parse((await gateway.run(...asked)).stdout);
    expect(second).toEqual(first);
    expect(first).toMatchObject({ ok: true, result: { answer: 'good day' } });
  });
});
