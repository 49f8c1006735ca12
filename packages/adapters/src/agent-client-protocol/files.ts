// Files below the root that the manifest names, served to the agent. Without a root, or beyond it,
// every request is refused.

import {
  type ReadTextFileRequest,
  type ReadTextFileResponse,
  RequestError,
  type WriteTextFileRequest,
} from '@agentclientprotocol/sdk';
import { FabricError } from '@starloom/core';
import { fileFailure, Roots, readText, replaceFile } from '@starloom/wire/files';

const MAX_FILE_BYTES = 8_388_608;

export class ServedFiles {
  readonly #root: string | undefined;
  readonly #mayWrite: boolean;
  #roots: Promise<Roots> | undefined;

  constructor(root: string | undefined, access: 'read' | 'write') {
    this.#root = root;
    this.#mayWrite = access === 'write';
  }

  get capabilities() {
    const isServed = this.#root !== undefined;
    return { readTextFile: isServed, writeTextFile: isServed && this.#mayWrite };
  }

  async read({ path, line, limit }: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    return refusing(async () => {
      const { text } = await readText(await this.roots(), path, MAX_FILE_BYTES);
      if (line == null && limit == null) return { content: text };
      const first = Math.max(0, (line ?? 1) - 1);
      const lines = text.split(/(?<=\n)/);
      return { content: lines.slice(first, first + (limit ?? lines.length)).join('') };
    });
  }

  async write({ path: given, content }: WriteTextFileRequest): Promise<Record<string, never>> {
    return refusing(async () => {
      if (!this.#mayWrite) throw denied('The agent may only read files', 'read_only');
      if (Buffer.byteLength(content) > MAX_FILE_BYTES) {
        throw denied('The content is too large', 'content_too_large');
      }
      const roots = await this.roots();
      const path = await roots.locate(given);
      await replaceFile(roots, { path, content }).catch((error: unknown) => {
        throw fileFailure(error, given);
      });
      return {};
    });
  }

  /** POLICY_DENIED when the manifest names no root. */
  roots(): Promise<Roots> {
    if (this.#root === undefined) {
      throw denied('The manifest of the agent names no root', 'no_root');
    }
    this.#roots ??= Roots.open([this.#root], '.');
    return this.#roots;
  }
}

/**
 * Errors of ours as the agent understands them: what is missing, and what is not allowed. Agents look
 * for the words "Resource not found" before they create a file.
 */
export async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message, details } = FabricError.from(error);
    const { reason, path } = details;
    if (reason === 'not_found') throw RequestError.resourceNotFound(String(path));
    const number = code === 'BAD_INPUT' || code === 'POLICY_DENIED' ? -32_602 : -32_603;
    throw new RequestError(number, message, { reason });
  }
}

function denied(message: string, reason: string): FabricError {
  return new FabricError('POLICY_DENIED', message, { details: { reason } });
}
