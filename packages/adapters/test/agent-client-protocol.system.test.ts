import { rmSync } from 'node:fs';
import { silentLog } from '@starloom/core';
import { adapterContract } from '@starloom/core/testing';
import { describe, expect } from 'vitest';
import { eventually } from './fixtures/agent-world.ts';
import { EditorWorld, editorAgent } from './fixtures/editor-world.ts';

const CONTEXT = { signal: new AbortController().signal, log: silentLog };

describe('[G21] agents made for editors', () => {
  adapterContract(
    'agent-client-protocol',
    async () => {
      const world = new EditorWorld();
      const command = world.linkNode();
      const adapter = world.editor({ ...editorAgent(), command });
      return {
        adapter,
        async stopAgent() {
          rmSync(command);
          for (const pid of world.running()) process.kill(pid, 'SIGKILL');
          await expect
            .poll(async () => (await adapter.health(CONTEXT)).status, eventually)
            .toBe('offline');
        },
        close: () => world.close(),
      };
    },
    { asks: true },
  );
});
