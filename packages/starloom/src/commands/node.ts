import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { loadConfig, secret } from '@starloom/config';
import { nodeIdSchema } from '@starloom/core';
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import {
  action,
  type GlobalOptions,
  readVersion,
  toList,
  untilStopped,
  withExamples,
} from '../command-line.ts';
import type { DialerEvent } from '../node/gateway-dialer.ts';
import { peopleLog } from '../people-log.ts';
import { makeStateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['starloom node --gateway https://hub:7420 --key env:KEY', 'serve ./agents.yaml there'],
    ['starloom node --gateway … --key … --json', 'for scripts: one JSON line when connected'],
  ])
    .requiredOption('--gateway <url>', 'address of a gateway; may be given several times', toUrls)
    .requiredOption('--key <reference>', 'the key of this node, as env:NAME or file:PATH')
    .option('--agents <path>', 'file with the agents of this node', 'agents.yaml')
    .option('--id <node-id>', 'name of this node; the host name by default', toNodeId)
    .action(action(terminal, () => runNode));
}

interface NodeOptions extends GlobalOptions {
  readonly gateway: readonly string[];
  readonly key: string;
  readonly agents: string;
  readonly id?: string;
}

const keySchema = z.strictObject({ key: secret() });

async function runNode(terminal: Terminal, options: NodeOptions): Promise<void> {
  const { env, cwd } = terminal;
  const { gateway: gateways, id: nodeId = hostname(), json = false } = options;
  const flags = [{ name: '--key', path: ['key'], value: options.key }];
  const { value } = await loadConfig({ schema: keySchema, env, cwd, flags });
  const stopped = untilStopped();
  const [{ createObserver }, { openNode }] = await Promise.all([
    import('@starloom/gateway'),
    import('../node/open-node.ts'),
  ]);
  const observer = createObserver({
    level: 'info',
    otlp: null,
    version: readVersion(),
    ...(terminal.isWatched && !json && { destination: peopleLog(terminal) }),
  });
  try {
    const node = await openNode({
      nodeId,
      gateways,
      key: value.key.reveal(),
      agents: resolve(cwd, options.agents),
      env,
      stateFolder: await makeStateFolder(env),
      observer,
      onEvent: (event) => show(terminal, nodeId, event, json),
    });
    try {
      await Promise.race([node.connected.then(() => stopped), stopped]);
      if (!json) terminal.tell('stopping: finishing what is in flight');
    } finally {
      await node.close();
    }
  } finally {
    await observer.shutdown();
  }
}

function show({ json, tell }: Terminal, nodeId: string, event: DialerEvent, isJson: boolean) {
  const { gateway } = event;
  if (event.event === 'connected') {
    if (isJson) return json({ ...event, node_id: nodeId });
    return tell(`node ${nodeId} serves ${event.agents.join(', ') || 'no agents'} at ${gateway}`);
  }
  const { code, message, details } = event.error;
  if (isJson) return json({ ...event, node_id: nodeId, error: { code, message } });
  const fix = typeof details.fix === 'string' ? `\n  fix: ${details.fix}` : '';
  tell(`not connected to ${gateway}: ${message}${fix}`);
}

function toUrls(text: string, before?: readonly string[]): string[] {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError('expected a URL such as https://gateway:7420.');
  }
  return toList(text.replace(/\/+$/, ''), before);
}

function toNodeId(text: string): string {
  const { success } = nodeIdSchema.safeParse(text);
  if (success && text !== 'local') return text;
  throw new InvalidArgumentError('expected 1 to 128 characters, and not "local".');
}
