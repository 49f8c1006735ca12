import { silentLog } from '@starloom/core';
import {
  type Authenticator,
  createAuthenticator,
  createPskVerifier,
  generateKey,
} from '@starloom/identity';
import type { IProvider, ITool } from '@starloom/sdk';
import { openA2aServer, TaskApprovals } from '../../src/a2a/index.ts';
import { type AgentTomlInput, openAgent } from '../../src/index.ts';

interface ServedOptions {
  readonly provider: IProvider;
  readonly tools?: readonly ITool[];
  readonly agent?: Record<string, unknown>;
  readonly toml?: AgentTomlInput;
  readonly authenticator?: Authenticator;
  readonly folder?: string;
  readonly env?: Record<string, string>;
}

/** An agent that others reach over A2A on a free port. */
export async function openServed(options: ServedOptions) {
  const { provider, tools = [], agent: more, toml, authenticator, folder, env = {} } = options;
  const approvals = new TaskApprovals();
  const agent = await openAgent({
    config: {
      agent: { name: 'Served', version: '1.2.3', expose: { tools: ['ask'] }, ...more },
      ...(toml && { toml }),
      folder: '.',
    },
    provider,
    tools,
    approve: approvals.approve,
    askCaller: approvals.askCaller,
    env,
    ...(folder !== undefined && { stateFolder: folder }),
  });
  const served = await openA2aServer({
    ...{ agent, approvals, port: 0, authenticator, log: silentLog },
    ...(folder !== undefined && { folder: `${folder}/agents/served` }),
  });
  return {
    ...served,
    agent,
    [Symbol.asyncDispose]: async () => {
      await served.close();
      await agent.close();
    },
  };
}

export function twoKeys() {
  const [one, two] = [generateKey(), generateKey()];
  const terms = { tier: 'org', scopes: ['*'] } as const;
  const psk = createPskVerifier([
    { key_id: 'one', key: one, principal: 'alice', ...terms },
    { key_id: 'two', key: two, principal: 'bob', ...terms },
  ]);
  return { one, two, authenticator: createAuthenticator({ psk, anonymous: false }) };
}

interface Part {
  readonly text?: string;
}

interface Parts {
  readonly parts: readonly Part[];
}

export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly message: Parts };
  readonly artifacts?: readonly Parts[];
}

/** What tests read of an answer; of the fields that it does not have they would fail. */
interface Reply {
  readonly result: Task & { readonly task: Task; readonly tasks: readonly Task[] };
  readonly error: { readonly code: number };
}

export interface Item {
  readonly task: Task;
  readonly statusUpdate?: Pick<Task, 'status'>;
  readonly artifactUpdate?: { readonly artifact: Parts; readonly append?: boolean };
}

/** One JSON-RPC request of 1.0. */
export async function rpc(
  url: string,
  method: string,
  params: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await post(url, { jsonrpc: '2.0', id: 1, method, params }, headers);
  return (await response.json()) as Reply;
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'A2A-Version': '1.0', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export function message(text: string, more: Record<string, unknown> = {}) {
  const parts = text === '' ? [] : [{ text }];
  return { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...more } };
}

export function bearer(key: string) {
  return { authorization: `Bearer ${key}` };
}

/** The items of a stream; `stop` ends it early. */
export async function stream(
  url: string,
  method: string,
  params: unknown,
  stop: (item: Item) => boolean = () => false,
): Promise<Item[]> {
  const response = await post(url, { jsonrpc: '2.0', id: 1, method, params });
  const items: Item[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data === undefined) continue;
      const { result } = JSON.parse(data) as { result: Item };
      items.push(result);
      if (stop(result)) return items;
    }
  }
  return items;
}

export function textOf(artifacts: readonly Parts[] = []): string {
  return artifacts.flatMap(({ parts }) => parts.map(({ text = '' }) => text)).join('');
}
