import { signal } from '@preact/signals';
import type { TryRequest } from '../api-types.ts';

/** A call that was chosen to be run again, on its way to the screen that runs it. */
export const tryDraft = signal<
  { readonly request: TryRequest /** With its arguments. */; readonly isWhole: boolean } | undefined
>(undefined);
