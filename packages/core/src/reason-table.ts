// A package says why it refuses or fails in one table, its `reasons.ts`: code, sentence and fix of
// every reason stand side by side there, and docs/errors.md lists them.

import { type ErrorCode, type ErrorDetails, FabricError } from './errors.ts';

export interface ReasonRow {
  readonly code: ErrorCode;
  /** One sentence for people. `{name}` stands for the fact of that name. */
  readonly message: string;
  /** What to do about it. A fact called `fix` takes its place. */
  readonly fix?: string;
  /** What every error of this reason says besides, such as `sent: false`. */
  readonly details?: ErrorDetails;
}

/** By `details.reason`. A reason with several sentences has a row for each: `lock_held/own`. */
export type ReasonRows = Readonly<Record<string, ReasonRow>>;

type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

type FactsOf<Row> = Readonly<Record<NamesIn<Row[keyof Row & ('message' | 'fix')]>, unknown>> &
  ErrorDetails;

interface Origin {
  readonly cause?: unknown;
  readonly answer?: ErrorDetails;
}

type Arguments<Row> = [NamesIn<Row[keyof Row & ('message' | 'fix')]>] extends [never]
  ? [facts?: ErrorDetails, origin?: Origin]
  : [facts: FactsOf<Row>, origin?: Origin];

export interface ReasonTable<Rows extends ReasonRows> {
  /** The error of a row. Facts become its details; those that are undefined are left out. */
  <Key extends keyof Rows & string>(key: Key, ...rest: Arguments<Rows[Key]>): FabricError;
  readonly rows: Rows;
}

export function reasonTable<const Rows extends ReasonRows>(rows: Rows): ReasonTable<Rows> {
  function failure(key: string, facts: ErrorDetails = {}, origin?: Origin): FabricError {
    const { code, message, fix, details } = rows[key] as ReasonRow;
    const known = Object.entries(facts).filter(([, value]) => value !== undefined);
    return new FabricError(code, fill(message, facts), {
      details: {
        reason: key.split('/')[0],
        ...details,
        ...(fix !== undefined && { fix: fill(fix, facts) }),
        ...Object.fromEntries(known),
      },
      ...origin,
    });
  }
  return Object.assign(failure, { rows });
}

/** Makes the rows of one code, such as `const fault = rowsOf('UPSTREAM_ERROR')`. */
export function rowsOf<const Code extends ErrorCode>(code: Code, details?: ErrorDetails) {
  return <const Message extends string, const Fix extends string>(message: Message, fix?: Fix) => ({
    code,
    message,
    ...(fix !== undefined && { fix }),
    ...(details && { details }),
  });
}

function fill(text: string, facts: ErrorDetails): string {
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name]));
}
