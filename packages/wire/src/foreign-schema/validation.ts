// One validation of one value: what it may still cost, and what it found. The budget is counted
// while the checks run, so that no schema and no value can take more time than it allows.

/** Well below a tenth of a second; a unit is one check, or a few characters for a pattern. */
export const MAX_WORK = 1_200_000;
/** Of a unit: the smallest price. */
const PARTS = 16;
/** References followed inside each other. */
const MAX_REFERENCES = 512;
const MAX_PROBLEMS = 16;

/** Keys and indexes of the value that some keyword has judged. */
export type Seen = Set<string | number>;

/** Whether `value` fits; says why not in `validation`. `seen` only where a keyword needs it. */
export type Check = (value: unknown, validation: Validation, seen: Seen | undefined) => boolean;

export interface Problem {
  /** From the innermost key outwards. */
  readonly path: (string | number)[];
  readonly message: string;
}

export class TooMuchWork extends Error {}

export class Validation {
  readonly problems: Problem[] = [];
  /** How many patterns were asked that cannot be decided: see `patternOf`. */
  undecided = 0;
  #work: number;
  #references = 0;

  constructor(limit = MAX_WORK) {
    this.#work = limit * PARTS;
  }

  spend(units: number): void {
    // Whole numbers alone: a fraction would cost an allocation each time.
    this.#work -= (Math.min(units, MAX_WORK + 1) * PARTS) | 0;
    if (this.#work < 0) throw new TooMuchWork('the limit of work');
  }

  fail(message: string): false {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ path: [], message });
    return false;
  }

  /** A check of a value inside this one. */
  inside(key: string | number, value: unknown, check: Check): boolean {
    const before = this.problems.length;
    if (check(value, this, undefined)) return true;
    for (let at = before; at < this.problems.length; at += 1) this.problems[at]?.path.push(key);
    return false;
  }

  /** A check whose failure is no problem of the value. */
  quietly(check: Check, value: unknown, seen: Seen | undefined): boolean {
    const before = this.problems.length;
    const isValid = check(value, this, seen);
    this.problems.length = before;
    return isValid;
  }

  follow(check: Check, value: unknown, seen: Seen | undefined): boolean {
    this.#references += 1;
    if (this.#references > MAX_REFERENCES) throw new TooMuchWork('the depth of references');
    const isValid = check(value, this, seen);
    this.#references -= 1;
    return isValid;
  }
}

/** What reading a JSON value once costs, in units of work; not counted further than to `most`. */
export function sizeOf(value: unknown, most = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return 1 + value.length / 32;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && size < most; at += 1) {
      size += 1 / 8 + sizeOf(value[at], most - size);
    }
    return size;
  }
  for (const key in value) {
    if (size >= most) break;
    size += key.length / 32 + sizeOf(value[key as keyof typeof value], most - size);
  }
  return size;
}

/** The checks of a schema by the type of the value, as `jsonTypeOf` names it. */
export type ByType = Partial<Record<string, readonly Check[]>>;

const NONE: readonly Check[] = [];

export function checkByType(byType: ByType): Check {
  return (value, validation, seen) => {
    validation.spend(1);
    for (const check of byType[jsonTypeOf(value)] ?? NONE) {
      if (!check(value, validation, seen)) return false;
    }
    return true;
  };
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
