/** What is measured beside each other. */
export const LOOPS = ['starloom', 'generate_text'] as const;
export type LoopName = (typeof LOOPS)[number];

/** `answer`: the model answers at once. `tool`: it calls one tool first, so it is asked twice. */
export const WORK = ['answer', 'tool'] as const;
export type Work = (typeof WORK)[number];

export interface TurnCell {
  readonly name: string;
  readonly work: Work;
  /** `continued`: turns of a session that has had some. */
  readonly session: 'new' | 'continued';
  /** `disk`: what was said is in a file before a turn ends. */
  readonly kept: 'memory' | 'disk';
}

export const TURN_CELLS: readonly TurnCell[] = WORK.flatMap((work) =>
  (['new', 'continued'] as const).flatMap((session) =>
    (['memory', 'disk'] as const).map((kept) => ({
      name: `${work}.${session}.${kept}`,
      work,
      session,
      kept,
    })),
  ),
);

/** A session is left after so many turns: contexts of all loops stay alike and bounded. */
export const TURNS_PER_SESSION = 20;
