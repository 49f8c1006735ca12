import { stripHidden } from './hidden-text.ts';

/** Safe to print: short, one line, nothing hidden. */
export function show(text: string): string {
  const plain = stripHidden(text).replaceAll(/[\p{Cc}\s]+/gu, ' ');
  return plain.length > 80 ? `${plain.slice(0, 77)}…` : plain;
}
