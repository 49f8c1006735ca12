import type { Command } from 'commander';
import { action, type GlobalOptions, withExamples } from '../command-line.ts';
import { connectToGateway, type GatewayClient } from '../gateway-client.ts';
import { waterfall } from '../journal-view.ts';
import type { Terminal } from '../terminal.ts';

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [['starloom trace 3f2a91c0', 'how a call went, step by step']])
    .argument('<id>', 'a trace id, or its beginning as "starloom calls" shows it')
    .action(action(terminal, () => showTrace));
}

async function showTrace(terminal: Terminal, id: string, { json }: GlobalOptions): Promise<void> {
  await using client = await connectToGateway(terminal);
  const { calls } = await client.call('fabric.calls.trace', {
    trace_id: await wholeId(client, id),
  });
  if (json) return terminal.json({ calls });
  terminal.print(waterfall(calls, terminal.columns));
}

const DIGITS = 32;

/** Of the newest call whose trace begins so; what is not found is left to the gateway to refuse. */
async function wholeId(client: GatewayClient, id: string): Promise<string> {
  if (id.replaceAll('-', '').length >= DIGITS) return id;
  const begin = id.toLowerCase();
  const { calls } = await client.call('fabric.calls.list', { text: begin, limit: 200 });
  return calls.find(({ trace_id }) => trace_id.startsWith(begin))?.trace_id ?? id;
}
