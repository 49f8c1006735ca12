import { describe, expect, it } from 'vitest';
import { Closers } from '../src/closers.ts';

describe('Closers', () => {
  it('closes the last part first, each once', async () => {
    const closed: string[] = [];
    const opened = new Closers();
    for (const name of ['first', 'second']) opened.add(() => closed.push(name));
    await opened.close();
    await opened.close();
    expect(closed).toEqual(['second', 'first']);
  });

  it('closes every part when one fails, then rejects with the first failure', async () => {
    const closed: string[] = [];
    const opened = new Closers();
    opened.add(() => closed.push('first'));
    opened.add(() => Promise.reject(new Error('second')));
    opened.add(() => {
      throw new Error('third');
    });
    await expect(opened.close()).rejects.toThrow('third');
    expect(closed).toEqual(['first']);
  });

  it('hands failures to the caller who wants them', async () => {
    const opened = new Closers();
    opened.add(() => Promise.reject(new Error('no')));
    const failures: unknown[] = [];
    await opened.close((error) => failures.push(error));
    expect(failures).toMatchObject([{ message: 'no' }]);
  });
});
