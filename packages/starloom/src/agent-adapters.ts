// Opens adapters of agents as a manifest lists them, with their secrets and with the certificates that the
// gateway shows to them (`endpoint.tls`): how long each is valid, and new connections when its file is
// replaced. A certificate without its key is waited for.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { openAdapter } from '@starloom/adapters';
import type { Adapter, Manifest } from '@starloom/core';
import type { Observer } from '@starloom/gateway';
import { resolveEndpoint } from '@starloom/registry';
import { FileWatch, fingerprintOf } from '@starloom/wire';
import { withOwnCommand } from './own-command.ts';
import { failure } from './reasons.ts';

interface AdapterOpenerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  readonly stateFolder?: string | undefined;
  readonly observer: Observer;
  /** Calls of this agent from now on go over new connections. */
  readonly reopen: (agentId: string) => void;
}

type Tls = NonNullable<Manifest['endpoint']['tls']>;

export class AdapterOpener {
  readonly #options: AdapterOpenerOptions;
  readonly #watches = new Map<string, FileWatch[]>();

  constructor(options: AdapterOpenerOptions) {
    this.#options = options;
  }

  readonly open = async (listed: Manifest): Promise<Adapter> => {
    const { env, folder, stateFolder, observer } = this.#options;
    await this.#watch(listed);
    const manifest = await resolveEndpoint(listed, env);
    this.#note(manifest);
    const own = withOwnCommand(manifest, { folder, env });
    const { log } = observer;
    return openAdapter({ manifest: own, log, stateFolder }, { baseFolder: folder });
  };

  close(): void {
    for (const agentId of this.#watches.keys()) this.#forget(agentId);
  }

  /** Before the files of a manifest are read. */
  async #watch({ agent_id, endpoint }: Manifest): Promise<void> {
    const { log } = this.#options.observer;
    this.#forget(agent_id);
    const references = Object.values(endpoint.tls ?? {});
    const paths = references.flatMap((text) => /^file:(.+)$/.exec(text ?? '')?.[1] ?? []);
    if (paths.length === 0) return;
    const onChange = () => void this.#onReplaced(agent_id, endpoint.tls ?? {});
    const known = await Promise.all(paths.map(fingerprintOf));
    const watches = paths.map(
      (path, at) => new FileWatch({ path, known: known[at] ?? '', onChange, log }),
    );
    this.#watches.set(agent_id, watches);
  }

  #note({ agent_id, endpoint }: Manifest): void {
    const { certificate } = endpoint.tls ?? {};
    if (certificate === undefined) return;
    try {
      const { validTo } = new X509Certificate(certificate);
      this.#options.observer.certificateSeen(`agent:${agent_id}`, Date.parse(validTo));
    } catch (cause) {
      throw failure('bad_certificate', { agent_id }, { cause });
    }
  }

  #forget(agentId: string): void {
    for (const watch of this.#watches.get(agentId) ?? []) watch.close();
    this.#watches.delete(agentId);
  }

  async #onReplaced(agentId: string, tls: Tls): Promise<void> {
    const { observer, reopen } = this.#options;
    if (!(await isPair(tls))) {
      const fix = 'replace the certificate and its key';
      observer.log.warn({ agent_id: agentId, fix }, 'a new certificate does not fit its key');
      return;
    }
    observer.log.info({ agent_id: agentId }, 'the certificate for an agent was replaced');
    reopen(agentId);
  }
}

/** Where both are files; of others it is not known here. */
async function isPair({ certificate = '', key = '' }: Tls): Promise<boolean> {
  if (!certificate.startsWith('file:') || !key.startsWith('file:')) return true;
  try {
    const [pem, secret] = await Promise.all([
      readFile(certificate.slice(5)),
      readFile(key.slice(5)),
    ]);
    return new X509Certificate(pem).checkPrivateKey(createPrivateKey(secret));
  } catch {
    return false;
  }
}
