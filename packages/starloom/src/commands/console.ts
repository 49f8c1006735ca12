// A link to the console of the running gateway. The code in it is good once, for ten minutes; it stands in
// the fragment, which browsers send to no server.

import { fromErrorPayload } from '@starloom/core';
import type { Command } from 'commander';
import { z } from 'zod';
import { action, type GlobalOptions, withExamples } from '../command-line.ts';
import { readAddress, toConnectError } from '../gateway-client.ts';
import { failure } from '../reasons.ts';
import type { Terminal } from '../terminal.ts';

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [
    ['starloom console', 'print a link to the console; it works once'],
    ['xdg-open "$(starloom console)"', 'open it'],
  ]).action(action(terminal, () => printConsoleLink));
}

const linkSchema = z.object({ code: z.string(), expires_at: z.string() });

async function printConsoleLink(terminal: Terminal, { json }: GlobalOptions): Promise<void> {
  const { url: known, headers } = await readAddress(terminal.env);
  if (!known) throw failure('gateway_unreachable/unknown');
  const { code, expires_at } = await requestCode(known, headers);
  const url = toConsoleLink(known, code);
  if (json) return terminal.json({ url, expires_at });
  terminal.print(url);
  terminal.tell('It works once, within ten minutes.');
}

export function toConsoleLink(url: string, code: string): string {
  const { href } = new URL('/console/', url);
  return `${href}#code=${code}`;
}

async function requestCode(url: string, headers: Record<string, string>) {
  const response = await fetch(new URL('/console/api/session', url), {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ link: true }),
  }).catch((error: unknown) => {
    throw toConnectError(error, url);
  });
  const answer: unknown = await response.json().catch(() => undefined);
  const link = linkSchema.safeParse(answer);
  if (link.success) return link.data;
  throw fromErrorPayload(answer) ?? failure('no_console');
}
