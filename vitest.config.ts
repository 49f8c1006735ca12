import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';

const everywhere = ['packages/*/test/**', 'test/**'];

/**
 * `unit` is what `npm run check` runs. Tests that start real engines, other people's programs or
 * whole topologies are named `*.engine.test.ts` and run one file at a time.
 */
export default defineConfig({
  ssr: { resolve: { conditions: ['@starloom/source', ...defaultServerConditions] } },
  test: {
    pool: 'forks',
    reporters: ['default', './packages/testkit/src/missing-engines-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: everywhere.map((folder) => `${folder}/*.test.ts`),
          exclude: ['**/*.engine.test.ts', '**/node_modules/**'],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'engines',
          include: everywhere.map((folder) => `${folder}/*.engine.test.ts`),
          testTimeout: 180_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
