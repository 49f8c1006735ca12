// An MCP server whose incoming messages are recorded in a file.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ManifestInput } from '@starloom/core';

export interface ReceivedMessage {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly requestId?: number | string;
    readonly arguments?: Record<string, unknown>;
  };
}

const RECORDER = fileURLToPath(new URL('record-requests.ts', import.meta.url));

/** The same agent, with its process behind the recorder. */
export function recorded(agent: ManifestInput, file: string): ManifestInput {
  const { command = '', args = [] } = agent.endpoint;
  const behind = [RECORDER, file, command, ...args];
  return { ...agent, endpoint: { ...agent.endpoint, command: process.execPath, args: behind } };
}

/** What the server received so far. */
export async function receivedBy(file: string): Promise<ReceivedMessage[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line ? [JSON.parse(line) as ReceivedMessage] : []));
}

/** The process of the server itself, of its latest start. */
export async function serverProcess(file: string): Promise<number> {
  return Number(await readFile(`${file}.pid`, 'utf8'));
}

export async function callsReceivedBy(file: string): Promise<ReceivedMessage[]> {
  return (await receivedBy(file)).filter(({ method }) => method === 'tools/call');
}
