import { describe, expect, it } from 'vitest';
import { readAddress } from '../src/gateway-client.ts';

describe('a command that an agent runs', () => {
  const env = { STARLOOM_HOME: '/nowhere', STARLOOM_URL: 'http://127.0.0.1:1', STARLOOM_KEY: 'k' };

  it('says in which program it runs, so that its calls belong to the calls of that agent', async () => {
    const { headers } = await readAddress({ ...env, STARLOOM_PROCESS: 'a.1@' });
    expect(headers).toEqual({ authorization: 'Bearer k', 'x-starloom-process': 'a.1@' });
    expect((await readAddress(env)).headers).toEqual({ authorization: 'Bearer k' });
  });
});
