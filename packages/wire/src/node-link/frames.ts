// What a gateway and a node send each other, one JSON text each. Either side opens streams under ids of its
// own, which only rise. The side that serves a stream sends items and may ask; the side that opened it
// answers, gives room for more items, and may cancel.

import { bounded, FabricError, type Fields, isErrorCode, isObject, toFields } from '@starloom/core';
import { assertJsonLimits } from '../json-limits.ts';
import { failure } from '../reasons.ts';

/** An error as it travels. `sent` is kept: the node alone knows whether its agent was reached. */
export interface LinkError {
  readonly code: string;
  readonly message: string;
  readonly details: Fields;
  readonly answer?: Fields;
}

export type OpenerFrame =
  | { readonly type: 'open'; readonly id: number; readonly method: string; readonly params: Fields }
  | { readonly type: 'room'; readonly id: number; readonly length: number }
  | { readonly type: 'cancel'; readonly id: number; readonly error: LinkError }
  | { readonly type: 'answer'; readonly id: number; readonly ask: number; readonly value: unknown }
  | {
      readonly type: 'no_answer';
      readonly id: number;
      readonly ask: number;
      readonly error: LinkError;
    };

export type ServerFrame =
  | { readonly type: 'item'; readonly id: number; readonly value: unknown }
  | {
      readonly type: 'ask';
      readonly id: number;
      readonly ask: number;
      readonly method: string;
      readonly params: Fields;
    }
  | { readonly type: 'withdraw'; readonly id: number; readonly ask: number }
  | { readonly type: 'end'; readonly id: number; readonly value: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: LinkError };

/** Why the side that closes the connection does so. */
type CloseFrame = { readonly type: 'close'; readonly id: 0; readonly error: LinkError };

export type Frame = OpenerFrame | ServerFrame | CloseFrame;

/** The fields that each kind of frame has beside its id, and what they must be. */
const FIELDS: Readonly<
  Record<Frame['type'], Readonly<Record<string, (value: unknown) => boolean>>>
> = {
  open: { method: isText, params: isObject },
  room: { length: isCount },
  cancel: { error: isObject },
  answer: { ask: isCount },
  no_answer: { ask: isCount, error: isObject },
  item: {},
  ask: { ask: isCount, method: isText, params: isObject },
  withdraw: { ask: isCount },
  end: {},
  error: { error: isObject },
  close: { error: isObject },
};

/** A frame of the other side, or UPSTREAM_ERROR. */
export function parseFrame(text: string): Frame {
  assertJsonLimits(text);
  const frame = parse(text);
  const fields =
    isObject(frame) && Object.hasOwn(FIELDS, String(frame.type))
      ? FIELDS[frame.type as Frame['type']]
      : undefined;
  const isWhole =
    isObject(frame) &&
    fields !== undefined &&
    isCount(frame.id) &&
    Object.entries(fields).every(([name, fits]) => fits(frame[name]));
  if (!isWhole) throw failure('link_protocol', { problem: 'a message of an unknown form' });
  return frame as unknown as Frame;
}

export function toLinkError(thrown: unknown): LinkError {
  const { code, message, details, answer } = FabricError.from(thrown);
  return { code, message, details: { ...details }, ...(answer && { answer: { ...answer } }) };
}

export function fromLinkError(error: unknown): FabricError {
  const { code, message, details, answer } = toFields(error);
  return new FabricError(
    isErrorCode(code) ? code : 'UPSTREAM_ERROR',
    typeof message === 'string' ? bounded(message) : 'The other side reported an error',
    { details: toFields(details), answer: isObject(answer) ? answer : undefined },
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw failure('link_protocol', { problem: 'a message that is not JSON' }, { cause });
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= 64;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
