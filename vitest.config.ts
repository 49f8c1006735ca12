import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';

/**
 * `unit` is what `npm run check` runs: in one process each, quick. `system` starts processes,
 * commands and whole topologies. `engines` needs Postgres, Redis, a browser, other people's programs
 * and the official suites. `interop` is the part of it in test/interop, with
 * `*.peer.test.ts`, which need programs of a gigabyte in all: it runs with `npm run test:interop` alone.
 * `nodes` installs every version of Node that `engines` names: it runs with `npm run test:nodes` alone.
 */
const names = (kind: string) =>
  ['packages/*/test', 'test'].map((folder) => `${folder}/**/*${kind}.ts`);

/** Node 22 cannot parse `using`: vitest compiles it away, but not in processes that these start. */
const startSource = [
  'packages/identity/test/psk.test.ts',
  'packages/runtime/test/core/sessions.test.ts',
  'packages/runtime/test/trust/corpus.test.ts',
  'packages/samples/test/serve-http.test.ts',
  'test/bench/coordination.test.ts',
];
const notHere = process.versions.node.startsWith('22.') ? startSource : [];

export default defineConfig({
  ssr: { resolve: { conditions: ['@starloom/source', ...defaultServerConditions] } },
  test: {
    pool: 'forks',
    maxWorkers: 2,
    // A hang guard, not a measure: the default of a second is too short on a loaded machine.
    expect: { poll: { timeout: 20_000 } },
    reporters: ['default', './packages/testkit/src/missing-engines-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          setupFiles: ['./test/support/fixed-seed.ts'],
          isolate: false,
          include: names('.test'),
          exclude: ['**/*.{system,engine,peer,nodes}.test.ts', '**/node_modules/**', ...notHere],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: names('.system.test'),
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'engines',
          include: names('.engine.test'),
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'interop',
          include: ['test/interop/**/*.{engine,peer}.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      { extends: true, test: { name: 'nodes', include: names('.nodes.test') } },
    ],
  },
});
