import type { ProgramDefinition } from '../program.ts';

export const chromium: { readonly program: ProgramDefinition } = {
  program: {
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    package: 'chromium',
  },
};

/** A browser for one test: no window, no sandbox (root has none), no calls home, no memory. */
export function chromiumArguments(userDataFolder: string): string[] {
  return [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    `--user-data-dir=${userDataFolder}`,
  ];
}
