import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import type { ManifestInput } from '@starloom/core';
import {
  describeWithPeer,
  freePort,
  type ProgramResult,
  prepareGo,
  preparePython,
} from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askPeers } from '../support/a2a-peers.ts';
import { connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';
import { a2aScenarios } from './a2a-scenarios.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

interface Peer {
  readonly name: string;
  readonly prepare: () => Promise<ProgramResult>;
  /** Before the ports. */
  readonly args: readonly string[];
  readonly versions: readonly Way['version'][];
}

const PEERS: readonly Peer[] = [
  {
    name: 'an agent of the Python SDK of A2A',
    prepare: () => preparePython(here('servers/a2a-requirements.txt')),
    args: [here('servers/a2a_agent.py')],
    versions: ['1.0', '0.3'],
  },
  {
    name: 'an agent of the Go SDK of A2A',
    prepare: () => prepareGo(here('servers/go-a2a')),
    args: [],
    versions: ['1.0'],
  },
];

for (const { name, prepare, args, versions } of PEERS) {
  const ways = versions.flatMap((version) =>
    (['jsonrpc', 'rest', 'grpc'] as const).map((binding) => ({ binding, version })),
  );

  describeWithPeer(name, prepare, (command) => {
    const stack = new AsyncDisposableStack();
    let client: Client;
    let ports: readonly number[];

    beforeAll(async () => {
      ports = await Promise.all([freePort(), ...versions.map(freePort)]);
      const agent = await spawnProcess({
        command,
        args: [...args, ...ports.map(String)],
        env: childEnvironment({}),
      });
      stack.defer(async () => {
        await agent.stop();
      });
      const { value } = await agent.lines()[Symbol.asyncIterator]().next();
      expect(value, agent.stderrTail()).toBe('ready');
      const agents = ways.map((way) => toManifest(way, ports));
      const config = { telemetry: { log_level: 'warn' } };
      client = stack.use(await connect(stack.use(await startGateway({ agents, config }))));
    });

    afterAll(() => stack.disposeAsync());

    it('[S6] takes a task of an agent over every binding at once, and one of them fails', async () => {
      const peers = ways.map((way) => {
        const { binding, version, origins } = toOptions(way, ports);
        const name = idOf(way.binding, way.version);
        return { name, card: `http://127.0.0.1:${ports[0]}`, binding, version, origins };
      });
      const down = { name: 'down', card: 'http://127.0.0.1:9' };
      const answers = await askPeers([...peers, down], 'stream one two', 'work');
      expect(answers).toEqual([
        ...peers.map(({ name: peer }) =>
          expect.objectContaining({ peer, status: 'completed', text: 'onetwo' }),
        ),
        expect.objectContaining({ peer: 'down', status: 'failed' }),
      ]);
    });

    describe.each(ways)('over $binding, $version', ({ binding, version }) => {
      a2aScenarios(idOf(binding, version), () => client);
    });
  });
}

function idOf(binding: string, version: string): string {
  return `${binding}-${version.replace('.', '-')}`;
}

interface Way {
  readonly binding: 'jsonrpc' | 'rest' | 'grpc';
  readonly version: '1.0' | '0.3';
}

function toOptions({ binding, version }: Way, [, ...grpc]: readonly number[]) {
  return { binding, version, origins: grpc.map((port) => `grpc://127.0.0.1:${port}`) };
}

function toManifest(way: Way, ports: readonly number[]): ManifestInput {
  return {
    agent_id: idOf(way.binding, way.version),
    endpoint: {
      transport: 'http',
      protocol: 'a2a',
      uri: `http://127.0.0.1:${ports[0]}`,
      options: toOptions(way, ports),
    },
    trust_tier: 'org',
  };
}
