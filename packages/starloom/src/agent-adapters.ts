import { openAdapter } from '@starloom/adapters';
import type { Adapter, Manifest } from '@starloom/core';
import type { Observer } from '@starloom/gateway';
import { resolveEndpoint } from '@starloom/registry';
import { AgentCertificates } from './agent-certificates.ts';
import { withOwnCommand } from './own-command.ts';

interface AdapterOpenerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where paths of manifests begin. */
  readonly folder: string;
  readonly stateFolder?: string | undefined;
  readonly observer: Observer;
  /** Calls of this agent from now on go over new connections. */
  readonly reopen: (agentId: string) => void;
}

export interface AdapterOpener {
  readonly open: (listed: Manifest) => Promise<Adapter>;
  close(): void;
}

/** Opens adapters of agents as a manifest lists them, with their secrets and certificates. */
export function adapterOpener(options: AdapterOpenerOptions): AdapterOpener {
  const { env, folder, stateFolder, observer, reopen } = options;
  const shown = new AgentCertificates({ observer, reopen });
  return {
    async open(listed) {
      await shown.watch(listed);
      const manifest = await resolveEndpoint(listed, env);
      shown.note(manifest);
      const own = withOwnCommand(manifest, { folder, env });
      const { log } = observer;
      return openAdapter({ manifest: own, log, stateFolder }, { baseFolder: folder });
    },
    close: () => shown.close(),
  };
}
