import { type History, isEnd, isFinalState, type StreamItem } from './history.ts';

export const INVARIANTS = [
  'accepted_is_kept',
  'one_end',
  'one_result',
  'at_most_once',
  'answered_once',
  'stream_whole',
  'same_key_same_job',
  'stays_up',
] as const;
export type Invariant = (typeof INVARIANTS)[number];

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

export function check(history: History): readonly Violation[] {
  return [
    ...checkKept(history),
    ...checkEnds(history),
    ...checkResults(history),
    ...checkEffects(history),
    ...checkStreams(history),
    ...checkKeys(history),
    ...history.deaths.map((why) => violation('stays_up', `a gateway ended by itself: ${why}`)),
  ];
}

function checkKept({ accepted, stored }: History): readonly Violation[] {
  return [...accepted.keys()]
    .filter((id) => !stored.has(id))
    .map((id) => violation('accepted_is_kept', `job ${id} was accepted and is gone`));
}

/** Every accepted job is over, and no client saw it end in another way. */
function checkEnds({ accepted, stored, seen }: History): readonly Violation[] {
  const open = [...accepted.values()].flatMap(({ jobId, kind }) => {
    const state = stored.get(jobId)?.state;
    if (state === undefined || isFinalState(state)) return [];
    return violation('one_end', `${kind} job ${jobId} is still ${state}`);
  });
  const changed = seen.flatMap(({ jobId, state, answer }) => {
    const end = stored.get(jobId);
    if (end === undefined || (end.state === state && end.answer === answer)) return [];
    const was = `${state} ${answer ?? ''}`;
    return violation('one_end', `job ${jobId} was ${was} and is ${end.state} ${end.answer ?? ''}`);
  });
  return [...open, ...changed];
}

/** One end event, the last one; and a result that the agent made for this job. */
function checkResults({ stored, effects }: History): readonly Violation[] {
  const made = new Map<string, Set<string>>();
  for (const { jobId, kind, answer } of effects) {
    if (kind !== 'call') continue;
    made.set(jobId, (made.get(jobId) ?? new Set()).add(answer));
  }
  return [...stored].flatMap(([id, { state, answer, events }]) => {
    if (!isFinalState(state)) return [];
    const ends = events.filter(({ type }) => isEnd(type));
    const last = events.at(-1);
    const expected = state === 'succeeded' ? 'final' : 'error';
    if (ends.length !== 1 || last?.type !== expected) {
      const found = `${ends.length} end events, the last event is ${last?.type}`;
      return violation('one_result', `${state} job ${id} has ${found}`);
    }
    if (state !== 'succeeded') return [];
    if (last.text !== answer) {
      return violation('one_result', `job ${id} streamed ${last.text} and stored ${answer}`);
    }
    if (made.get(id)?.has(answer ?? '')) return [];
    return violation('one_result', `job ${id} has ${answer}, which the agent did not answer`);
  });
}

function checkEffects({ accepted, effects, stored }: History): readonly Violation[] {
  const calls = count(effects.filter(({ kind }) => kind === 'call').map(({ jobId }) => jobId));
  const answers = count(effects.filter(({ kind }) => kind === 'answer').map(({ jobId }) => jobId));
  const repeated = [...calls].flatMap(([id, n]) => {
    const kind = accepted.get(id)?.kind;
    if (kind === undefined || kind === 'safe' || n < 2) return [];
    return violation('at_most_once', `${kind} job ${id} reached the agent ${n} times`);
  });
  const counted = [...stored].flatMap(([id, { reason, attempt }]) => {
    if (reason !== 'interrupted' || calls.get(id) === undefined || attempt <= 3) return [];
    return violation('at_most_once', `interrupted job ${id} counts ${attempt} attempts`);
  });
  const twice = [...answers].flatMap(([id, n]) => {
    return n < 2 ? [] : violation('answered_once', `job ${id} answered its agent ${n} times`);
  });
  return [...repeated, ...counted, ...twice];
}

function checkStreams({ streams, stored }: History): readonly Violation[] {
  const legs = [...stored].flatMap(([id, { events }]) => {
    const at = findGap(events);
    return at === undefined ? [] : violation('stream_whole', `job ${id} has a gap at event ${at}`);
  });
  const received = streams.flatMap(({ jobId, items, isComplete }) => {
    const events = stored.get(jobId)?.events ?? [];
    const wrong = items.findIndex((item, index) => !isSame(item, events[index], index));
    if (wrong >= 0) {
      const got = JSON.stringify(items[wrong]);
      return violation('stream_whole', `item ${wrong + 1} of the stream of ${jobId} is ${got}`);
    }
    if (!isComplete || items.length === events.length) return [];
    const short = `${items.length} of ${events.length} events`;
    return violation('stream_whole', `the stream of ${jobId} ended after ${short}`);
  });
  return [...legs, ...received];
}

/** `seq` counts from 1 without gaps; after a question it starts again. */
function findGap(events: readonly StreamItem[]): number | undefined {
  let seq = 0;
  for (const { cursor, seq: next, type } of events) {
    if (next !== seq + 1) return cursor;
    seq = type === 'awaiting_input' ? 0 : next;
  }
  return undefined;
}

function isSame(item: StreamItem, event: StreamItem | undefined, index: number): boolean {
  if (event === undefined || item.cursor !== index + 1) return false;
  return item.seq === event.seq && item.type === event.type && item.text === event.text;
}

function checkKeys({ keys }: History): readonly Violation[] {
  return [...keys].flatMap(([key, ids]) => {
    if (ids.size < 2) return [];
    return violation('same_key_same_job', `key ${key} was answered with ${[...ids].join(', ')}`);
  });
}

function count(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

function violation(invariant: Invariant, message: string): Violation {
  return { invariant, message };
}
