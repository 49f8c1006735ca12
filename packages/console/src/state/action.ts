import { useSignal } from '@preact/signals';

export interface Action {
  readonly isBusy: boolean;
  /** Why the last one failed. */
  readonly error: unknown;
  run(work: () => Promise<unknown>): Promise<void>;
}

/** Something a person does: one at a time, with the reason when it fails. */
export function useAction(): Action {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  return {
    isBusy: isBusy.value,
    error: error.value,
    async run(work) {
      isBusy.value = true;
      error.value = undefined;
      try {
        await work();
      } catch (problem) {
        error.value = problem;
      } finally {
        isBusy.value = false;
      }
    },
  };
}
