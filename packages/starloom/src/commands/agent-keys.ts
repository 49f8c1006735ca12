// Only a client with the key of an agent may call it over HTTP. The key is given with the command,
// or drawn once and kept, so that clients stay connected over restarts.

import { loadConfig, secret } from '@starloom/config';
import { isLoopback } from '@starloom/core';
import { checkSharedKey } from '@starloom/gateway/config';
import {
  type Authenticator,
  createAuthenticator,
  createPskVerifier,
  generateKey,
} from '@starloom/identity';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { clientFile } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';

interface KeyOptions {
  readonly host: string;
  readonly key?: string | undefined;
  /** Lets callers without a key in; refused beyond this machine. */
  readonly anonymous?: boolean | undefined;
}

interface AgentKey {
  /** The key, or the reference that was given for it. */
  readonly shown: string;
  /** For a gateway at which the agent registers; none where callers need no key. */
  readonly header: string | undefined;
  readonly authenticator: Authenticator;
  /** Writes how to reach the agent into a file, and returns its path. A key that was given is not copied. */
  save(url: string): Promise<string | undefined>;
}

const OWNER = { key_id: 'local', principal: 'local', tier: 'local', scopes: ['*'] } as const;

export async function openAgentKey(
  terminal: Terminal,
  folder: string,
  { host, key: reference, anonymous = false }: KeyOptions,
): Promise<AgentKey> {
  if (anonymous && !isLoopback(host)) throw failure('usage/anonymous', { host });
  const key = await (reference ? readKey(terminal, reference) : keptKey(folder));
  const psk = createPskVerifier([{ ...OWNER, key }]);
  return {
    shown: reference ?? key,
    header: anonymous ? undefined : `Bearer ${key}`,
    authenticator: createAuthenticator({ psk, anonymous }),
    async save(url) {
      if (reference) return undefined;
      return await clientFile.write(folder, { url, key, key_id: OWNER.key_id });
    },
  };
}

const keySchema = z.strictObject({ key: secret({ check: checkSharedKey }) });

async function keptKey(folder: string): Promise<string> {
  return (await clientFile.read(folder))?.key ?? generateKey();
}

async function readKey({ env, cwd }: Terminal, reference: string): Promise<string> {
  const flags = [{ name: '--key', path: ['key'], value: reference }];
  const { value } = await loadConfig({ schema: keySchema, env, cwd, flags });
  return value.key.reveal();
}
