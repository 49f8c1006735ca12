import { type Adapter, silentLog } from '@starloom/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AgentWorld, contractAgent, runCall } from './fixtures/agent-world.ts';
import { EditorWorld, editorAgent } from './fixtures/editor-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

const KINDS: readonly [string, (isolation: string) => Adapter][] = [
  ['local-process', (isolation) => localProcess({ isolation })],
  ['local-process, pooled', (isolation) => localProcess({ isolation, pooled: true })],
  [
    'agent-client-protocol',
    (isolation) => EditorWorld.open().opened({ ...editorAgent(), options: { isolation } }),
  ],
];

describe.each(KINDS)('where bubblewrap is missing: %s', (_, open) => {
  it('refuses a program that must be isolated, and nothing is started', async () => {
    const adapter = open('required');
    await withoutBubblewrap(async () => {
      expect((await runCall(adapter, 'echo x')).error).toMatchObject({
        code: 'POLICY_DENIED',
        details: { reason: 'isolation_missing', sent: false, agent_id: 'subject' },
      });
      expect((await adapter.health(CONTEXT)).status).toBe('offline');
      expect(await isolationOf(adapter)).toBe('unavailable');
    });
  });

  it('runs one for which it is only preferred, and says that it is not isolated', async () => {
    const adapter = open('preferred');
    await withoutBubblewrap(async () => {
      expect((await runCall(adapter, 'echo x')).answer).toBe('x');
      expect(await isolationOf(adapter)).toBe('unavailable');
    });
  });

  it('warns of it once in the log, and in the health of the agent', async () => {
    const adapter = open('preferred');
    const warnings: unknown[] = [];
    const log = { ...silentLog, warn: (fields: unknown) => void warnings.push(fields) };
    await withoutBubblewrap(async () => {
      for (const context of [CONTEXT, CONTEXT].map((one) => ({ ...one, log }))) {
        expect(await adapter.health(context)).toMatchObject({
          status: 'online',
          message: 'The program runs without isolation',
          fix: expect.stringContaining('install bubblewrap'),
        });
      }
    });
    expect(warnings).toEqual([{ fix: expect.stringContaining('install bubblewrap') }]);
  });

  it('says nothing where the manifest asks for none', async () => {
    expect(await isolationOf(open('none'))).toBeUndefined();
  });
});

describe('where programs cannot run as the user that the manifest names', () => {
  const user = 'no-such-user-of-starloom';

  it.each([{ isolation: 'none' }, { isolation: 'required' }])(
    'refuses the program with %o',
    async (options) => {
      const adapter = localProcess({ ...options, user });
      expect((await runCall(adapter, 'echo x')).error).toMatchObject({
        code: 'POLICY_DENIED',
        details: { reason: 'isolation_missing', sent: false },
      });
      expect((await adapter.health(CONTEXT)).status).toBe('offline');
      expect(await isolationOf(adapter)).toBe('unavailable');
    },
  );

  it('runs it where that is only preferred, and says that it is not isolated', async () => {
    const adapter = localProcess({ isolation: 'preferred', user });
    expect((await runCall(adapter, 'echo x')).answer).toBe('x');
    expect(await isolationOf(adapter)).toBe('unavailable');
  });

  it('takes no option of bubblewrap beside it', () => {
    expect(() => localProcess({ user, network: false })).toThrow('bubblewrap');
  });
});

function localProcess(options: Readonly<Record<string, unknown>>): Adapter {
  const adapter = AgentWorld.open().adapter({ ...contractAgent(), options });
  onTestFinished(() => adapter.close());
  return adapter;
}

async function withoutBubblewrap(work: () => Promise<void>): Promise<void> {
  const { PATH } = process.env;
  process.env.PATH = '/nowhere';
  try {
    await work();
  } finally {
    process.env.PATH = PATH;
  }
}

async function isolationOf(adapter: Adapter): Promise<unknown> {
  const { capabilities } = await adapter.describe(CONTEXT);
  return capabilities[0]?.annotations?.isolation;
}
