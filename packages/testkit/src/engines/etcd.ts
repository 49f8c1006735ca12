import type { ServerDefinition } from './server.ts';

export const etcd: ServerDefinition = {
  program: { names: ['etcd'], package: 'etcd-server' },
  args: ({ folder, port }) => [
    ...['--data-dir', `${folder}/data`],
    ...['--listen-client-urls', etcd.url(port), '--advertise-client-urls', etcd.url(port)],
    ...['--listen-peer-urls', NO_PEERS, '--initial-advertise-peer-urls', NO_PEERS],
    ...['--initial-cluster', `default=${NO_PEERS}`],
  ],
  env: process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {},
  url: (port) => `http://127.0.0.1:${port}`,
  async isReady(port) {
    const response = await fetch(`${etcd.url(port)}/health`, {
      signal: AbortSignal.timeout(1_000),
    });
    return (await response.text()).includes('"health":"true"');
  },
};

/** A cluster of one; the kernel picks the port for peers, which is not used. */
const NO_PEERS = 'http://127.0.0.1:0';
