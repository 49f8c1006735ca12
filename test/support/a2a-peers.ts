// Agents of the runtime among agents of other projects: one that is served over A2A, and one that gives tasks.

import { createTrace, ROOT_HOP, silentLog } from '@starloom/core';
import { createAuthenticator, createPskVerifier, generateKey } from '@starloom/identity';
import { type AgentTomlInput, openAgent } from '@starloom/runtime';
import { openA2aServer, TaskApprovals } from '@starloom/runtime/a2a';
import { defineTool, type IProvider } from '@starloom/sdk';

const act = defineTool({
  name: 'test:act',
  description: 'Acts.',
  effect: 'read',
  approval: true,
  parameters: { type: 'object' },
  execute: () => 'acted',
});

/** Says hello to a greeting; everything else needs a tool that asks for approval. */
const provider: IProvider = {
  name: 'test',
  readsBlocks: true,
  async generate(_, { blocks = [] }) {
    const last = blocks.at(-1);
    const isAsked = last?.role === 'user' && !JSON.stringify(last.segments).includes('hello');
    if (!isAsked) return { segments: [{ type: 'text', text: 'done' }] };
    return { segments: [{ type: 'tool_call', toolCall: { id: '1', name: act.name, args: {} } }] };
  },
};

/** A served agent; callers need its key, or none. */
export async function serveAgent({ isOpen = false } = {}) {
  const key = generateKey();
  const owner = { key_id: 'test', key, principal: 'tester', tier: 'org', scopes: ['*'] } as const;
  const approvals = new TaskApprovals();
  const agent = await openAgent({
    config: { agent: { name: 'served', expose: { tools: ['ask'] } }, folder: '.' },
    provider,
    tools: [act],
    approve: approvals.approve,
  });
  const psk = createPskVerifier([owner]);
  const served = await openA2aServer({
    ...{ agent, approvals, port: 0, log: silentLog, needsKey: !isOpen },
    authenticator: createAuthenticator({ psk, anonymous: isOpen }),
  });
  return {
    ...{ url: served.url, key },
    [Symbol.asyncDispose]: async () => {
      await served.close();
      await agent.close();
    },
  };
}

type PeerInput = NonNullable<NonNullable<AgentTomlInput['a2a']>['peers']>[number];

/** What peers answer to one task of an agent that asks them all at once. */
export async function askPeers(peers: readonly PeerInput[], task: string, skill?: string) {
  await using agent = await openAgent({
    config: { agent: { name: 'planner' }, toml: { a2a: { peers: [...peers] } }, folder: '.' },
    provider,
    approve: async () => true,
  });
  const ask = async ({ name: peer }: PeerInput) => {
    const to = skill === undefined ? peer : `${peer}/${skill}`;
    const { result, error } = await agent.callTool({
      call: { name: 'agent:delegate', args: { to, task } },
      origin: 'user',
      trace: createTrace(),
      hop: ROOT_HOP,
      signal: AbortSignal.timeout(60_000),
    });
    const text = result.output.map((segment) => ('text' in segment ? segment.text : '')).join('');
    return { peer, status: error ? 'failed' : 'completed', text };
  };
  return await Promise.all(peers.map(ask));
}
