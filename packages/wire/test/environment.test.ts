import { describe, expect, it } from 'vitest';
import { agentsAround, childEnvironment, markEnvironment, marksIn } from '../src/environment.ts';

describe('childEnvironment', () => {
  const from = {
    PATH: '/bin',
    LANG: 'C.UTF-8',
    LC_ALL: 'C',
    API_KEY: 'secret',
    NODE_OPTIONS: '--require=x',
    UNSET: undefined,
  };

  it('passes on only what a program needs to run', () => {
    expect(childEnvironment({ from })).toEqual({ PATH: '/bin', LANG: 'C.UTF-8', LC_ALL: 'C' });
  });

  it('passes on what the caller allows by name, when the parent has it', () => {
    const environment = childEnvironment({ from, allow: ['API_KEY', 'UNSET', 'MISSING'] });
    expect(environment).toMatchObject({ API_KEY: 'secret' });
    expect(environment).not.toHaveProperty('UNSET');
    expect(environment).not.toHaveProperty('MISSING');
  });

  it('lets extra values win over inherited ones', () => {
    const environment = childEnvironment({ from, extra: { PATH: '/opt/bin', TOKEN: 'given' } });
    expect(environment).toMatchObject({ PATH: '/opt/bin', TOKEN: 'given' });
  });

  it('takes the environment of this process by default', () => {
    expect(childEnvironment()).toHaveProperty('PATH', process.env.PATH);
  });
});

describe('markEnvironment', () => {
  it('adds the mark to those of the ancestors', () => {
    const outer = markEnvironment({ A: '1' }, 'outer', {});
    expect(outer).toEqual({ A: '1', STARLOOM_PROCESS: 'outer' });
    expect(markEnvironment({}, 'inner', outer)).toEqual({ STARLOOM_PROCESS: 'outer,inner' });
    expect(marksIn(outer)).toBe('outer');
    expect(marksIn({ STARLOOM_PROCESS: 'a\nb' })).toBeUndefined();
    expect(agentsAround({ STARLOOM_PROCESS: 'a.1@,b.2,c.3@' })).toBe(2);
  });
});
