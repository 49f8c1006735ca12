// biome-ignore lint/correctness/noNodejsModules: hashing does no I/O
import { hash } from 'node:crypto';

/** Of the text in UTF-8; for names and pins. */
export function sha256Hex(text: string): string {
  return hash('sha256', text);
}
