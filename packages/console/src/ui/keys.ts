// Shortcuts of the page. Single keys do nothing while a person types, and can be switched off
// (WCAG 2.1.4); those with Control or Command always work.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { keep, readKept } from '../state/kept.ts';

export interface Shortcut {
  /** Such as `j`, `g c` (one after the other), `mod+k`. */
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
}

const SEQUENCE_MS = 1200;

export const singleKeys = signal(readKept('single-keys') !== 'off');
export const shortcuts = signal<readonly Shortcut[]>([]);
let pending = '';
let pendingAt = 0;

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  keep('single-keys', on ? 'on' : 'off');
}

export function useShortcuts(list: readonly Shortcut[], deps: readonly unknown[]): void {
  useEffect(() => {
    shortcuts.value = [...shortcuts.peek(), ...list];
    return () => {
      shortcuts.value = shortcuts.peek().filter((shortcut) => !list.includes(shortcut));
    };
  }, deps);
}

export function watchKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const hasModifier = event.ctrlKey || event.metaKey;
    if (event.altKey || (!hasModifier && (isTyping(event) || !singleKeys.value))) return;
    if (!hasModifier && document.querySelector('dialog[open]') !== null) return;
    const key = hasModifier ? `mod+${event.key.toLowerCase()}` : event.key;
    const sequence = performance.now() - pendingAt < SEQUENCE_MS ? `${pending} ${key}` : key;
    const found = find(sequence) ?? find(key);
    pending = key;
    pendingAt = performance.now();
    if (found === undefined) return;
    pending = '';
    event.preventDefault();
    found.run();
  });
}

function find(keys: string): Shortcut | undefined {
  return shortcuts.peek().findLast((shortcut) => shortcut.keys === keys);
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches('input, textarea, select');
}
