import type { Plugin } from '@starloom/sdk';

/** Name → how to load it. A plugin costs nothing where `agent.json` does not name it. */
export const BUILT_IN_PLUGINS = {
  fabric: async () => (await import('./fabric/index.ts')).default,
  fs: async () => (await import('./fs/index.ts')).default,
  git: async () => (await import('./git/index.ts')).default,
  http: async () => (await import('./http/index.ts')).default,
  memory: async () => (await import('./memory/index.ts')).default,
  shell: async () => (await import('./shell/index.ts')).default,
  time: async () => (await import('./time/index.ts')).default,
} as const satisfies Readonly<Record<string, () => Promise<Plugin>>>;
