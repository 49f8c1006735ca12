// Tokens that a person's login brought, one file per agent and readable by their owner alone. A file
// that was made for another address, server or client does not count.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock, writeOwnFile } from '@starloom/wire';
import { z } from 'zod';
import { dpopKeySchema } from './dpop.ts';

const tokensSchema = z.object({
  uri: z.string(),
  issuer: z.string(),
  client_id: z.string(),
  /** Of a client that was registered with the login. */
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
  /** That the person agreed to. */
  scope: z.string().optional(),
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).optional(),
  /** That both tokens are bound to. */
  dpop_key: dpopKeySchema.optional(),
  /** When a new one is due, in milliseconds since 1970. */
  renew_at: z.number().optional(),
});

export type StoredTokens = z.infer<typeof tokensSchema>;

export class TokenFile {
  readonly #path: string;
  readonly #folder: string;

  constructor(stateFolder: string, agentId: string) {
    this.#folder = join(stateFolder, 'oauth');
    this.#path = join(this.#folder, `${agentId}.json`);
  }

  /** `clientId`: as in the manifest, if it names one. */
  async read(uri: string, clientId: string | undefined): Promise<StoredTokens | undefined> {
    const text = await readFile(this.#path, 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const parsed = tokensSchema.safeParse(parseJson(text));
    if (!parsed.success) return undefined;
    const { data } = parsed;
    const isSameClient = clientId === undefined || data.client_id === clientId;
    return data.uri === uri && isSameClient ? data : undefined;
  }

  async write(tokens: StoredTokens): Promise<void> {
    await writeOwnFile(this.#path, `${JSON.stringify(tokens)}\n`);
  }

  /** Whether there was a file. */
  async remove(): Promise<boolean> {
    return await rm(this.#path).then(
      () => true,
      () => false,
    );
  }

  /** Other processes that renew the same tokens wait. */
  async locked<T>(work: () => Promise<T>): Promise<T> {
    return await withFileLock(this.#path, work);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
