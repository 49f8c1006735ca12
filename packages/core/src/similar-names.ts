/**
 * The candidate that `word` was most likely meant to be, or `undefined` when none is near: case,
 * dashes and underscores do not count, and one edit is allowed per three letters.
 */
export function closestWord(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = fold(word).slice(0, 64);
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const folded = fold(candidate);
    const distance = editDistance(wanted, folded);
    const allowed = Math.max(1, Math.floor(Math.max(wanted.length, folded.length) / 3));
    if (distance > allowed || distance >= Math.min(wanted.length, folded.length)) continue;
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  return best?.candidate;
}

/** `did you mean "x"?` for a name that is not known; `undefined` when none is near. */
export function suggestionFor(word: string, candidates: Iterable<string>): string | undefined {
  const near = closestWord(word, candidates);
  return near === undefined ? undefined : `did you mean "${near}"?`;
}

function fold(word: string): string {
  return word.toLowerCase().replace(/[-_\s]/g, '');
}

/** Insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
        swapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

const LATIN: ReadonlyMap<string, string> = new Map([
  ...pairs('авгекмнопрстухіјѕԁԛԝһӏ', 'abrekmhonpctyxljsdqwhl'),
  ...pairs('αβγεηικνορτυχω', 'abyenlkvoptuxw'),
  ...pairs('01iıɩǀ|', 'ollllll'),
]);

const SEPARATORS = /[\s\p{P}\p{M}\p{C}\p{DI}]/gu;

/**
 * Names that a person or a model takes for one another have one skeleton: without case, separators and
 * the difference between 0 and O or 1, l and I, with letters of other scripts as the Latin ones they
 * look like. A skeleton is only compared, never shown.
 */
export function skeletonOf(name: string): string {
  const plain = name.normalize('NFKD').toLowerCase().replace(SEPARATORS, '');
  return Array.from(plain, (letter) => LATIN.get(letter) ?? letter).join('');
}

/** Whether two different names could be taken for one another. */
export function looksLike(one: string, other: string): boolean {
  return one !== other && skeletonOf(one) === skeletonOf(other);
}

/** The groups of names that could be taken for one another. */
export function lookAlikes(names: readonly string[]): string[][] {
  const groups = Object.values(Object.groupBy(new Set(names), skeletonOf));
  return groups.filter((group): group is string[] => group !== undefined && group.length > 1);
}

function pairs(from: string, to: string): [string, string][] {
  const targets = [...to];
  return Array.from(from, (letter, index) => [letter, targets[index] ?? letter]);
}
