// The screens, in groups: to add one, write its file in `screens/` and a row here.

import type { ComponentType } from 'preact';
import { Overview } from './screens/overview.tsx';

export interface Screen {
  /** First segment of its address. */
  readonly name: string;
  readonly title: string;
  /** After `g`. */
  readonly key: string;
  /** SVG path, 24 by 24. */
  readonly icon: string;
  readonly load: () => Promise<ComponentType>;
}

export const groups: readonly (readonly Screen[])[] = [
  [
    {
      name: 'overview',
      title: 'Overview',
      key: 'o',
      icon: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
      load: async () => Overview,
    },
    {
      name: 'calls',
      title: 'Calls',
      key: 'c',
      icon: 'M4 6h16M4 12h10M4 18h13',
      load: async () => (await import('./screens/calls.tsx')).Calls,
    },
    {
      name: 'agents',
      title: 'Agents',
      key: 'a',
      icon: 'M12 3v4M6 7h12v12H6zM9.5 12v2M14.5 12v2',
      load: async () => (await import('./screens/agents.tsx')).Agents,
    },
    {
      name: 'try',
      title: 'Try',
      key: 't',
      icon: 'M7 4l13 8-13 8z',
      load: async () => (await import('./screens/try.tsx')).Try,
    },
    {
      name: 'inbox',
      title: 'Inbox',
      key: 'i',
      icon: 'M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5',
      load: async () => (await import('./screens/inbox.tsx')).InboxScreen,
    },
    {
      name: 'jobs',
      title: 'Jobs',
      key: 'j',
      icon: 'M12 4a8 8 0 1 0 8 8M12 8v4l3 2M16 4h4v4',
      load: async () => (await import('./screens/jobs.tsx')).Jobs,
    },
  ],
  [
    {
      name: 'sessions',
      title: 'Sessions',
      key: 's',
      icon: 'M8 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 20c0-4 3-6 6-6s6 2 6 6M17 10a2.5 2.5 0 1 0 0-5M17 14c3 0 5 2 5 5',
      load: async () => (await import('./screens/sessions.tsx')).Sessions,
    },
    {
      name: 'topology',
      title: 'Topology',
      key: 'p',
      icon: 'M5 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM19 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7 6.5l10 5M7 17.5l10-5',
      load: async () => (await import('./screens/topology.tsx')).TopologyScreen,
    },
    {
      name: 'usage',
      title: 'Usage',
      key: 'u',
      icon: 'M4 20V10M10 20V4M16 20v-7M22 20H2',
      load: async () => (await import('./screens/usage.tsx')).UsageScreen,
    },
  ],
  [
    {
      name: 'keys',
      title: 'People and keys',
      key: 'k',
      icon: 'M8 15a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 11h9v3M17 11v3',
      load: async () => (await import('./screens/keys.tsx')).Keys,
    },
    {
      name: 'audit',
      title: 'Audit',
      key: 'd',
      icon: 'M6 3h9l4 4v14H6zM9 12h7M9 16h7M9 8h3',
      load: async () => (await import('./screens/audit.tsx')).Audit,
    },
    {
      name: 'settings',
      title: 'Settings',
      key: 'e',
      icon: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM9 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
      load: async () => (await import('./screens/settings.tsx')).Settings,
    },
  ],
];

export const screens = groups.flat();

export function screenFor(path: readonly string[]): Screen | undefined {
  const name = path[0] ?? 'overview';
  return screens.find((screen) => screen.name === name);
}
