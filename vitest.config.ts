import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';

/** Tests that start real engines (Postgres, Redis, …); `npm run check` leaves them out. */
const engines = '**/*.engine.test.ts';

export default defineConfig({
  ssr: { resolve: { conditions: ['@starloom/source', ...defaultServerConditions] } },
  test: {
    pool: 'forks',
    include: ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts'],
    projects: [
      {
        extends: true,
        test: { name: 'unit', exclude: [engines, '**/node_modules/**'], testTimeout: 20_000 },
      },
      {
        extends: true,
        test: {
          name: 'engines',
          include: [`packages/*/test/${engines}`, `test/${engines}`],
          testTimeout: 120_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
