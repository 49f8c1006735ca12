import type { CellName, TargetName } from './plan.ts';

/** Something that does updates, as many and as fast as it can. */
export interface UpdateTarget {
  readonly cell: CellName;
  readonly name: TargetName;
  measure(slice: Slice): Promise<UpdateSlice>;
}

export interface Slice {
  readonly measureMs: number;
  readonly signal: AbortSignal;
}

export interface UpdateSlice {
  readonly updates: number;
  readonly seconds: number;
  /** Of the process that did them, all its threads together. */
  readonly cpuMicroseconds?: number | undefined;
  /** Why an update was not done as it should; then the slice ended there. */
  readonly failure?: string | undefined;
}

export interface Part extends AsyncDisposable {
  readonly targets: readonly UpdateTarget[];
  /** Of the engine, where there is one. */
  readonly versions: Readonly<Record<string, string>>;
}
