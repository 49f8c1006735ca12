import { effect, signal } from '@preact/signals';
import { keep, readKept } from './kept.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const stored = readKept('theme');
export const theme = signal<Theme>(THEMES.find((name) => name === stored) ?? 'system');

export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    keep('theme', theme.value);
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
}
