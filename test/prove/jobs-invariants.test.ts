import { describe, expect, it } from 'vitest';
import { check } from '../../prove/jobs/check.ts';
import { History, type StoredState, type StreamItem } from '../../prove/jobs/history.ts';

const TOKEN: StreamItem = { cursor: 1, seq: 1, type: 'token', text: 'a' };
const FINAL: StreamItem = { cursor: 2, seq: 2, type: 'final', text: 'A' };
const ENDED: StoredState = { state: 'succeeded', attempt: 1, answer: 'A', events: [TOKEN, FINAL] };

/** One plain job that went well. */
function goodHistory(): History {
  const history = new History();
  history.accepted.set('j', { jobId: 'j', kind: 'plain' });
  history.keys.set('k', new Set(['j']));
  history.effects.push({ jobId: 'j', kind: 'call', answer: 'A' });
  history.seen.push({ jobId: 'j', state: 'succeeded', answer: 'A' });
  history.streams.push({ jobId: 'j', items: [TOKEN, FINAL], isComplete: true, reconnects: 0 });
  history.stored.set('j', ENDED);
  return history;
}

describe('invariants of jobs', () => {
  const found = (change: (history: History) => void) => {
    const history = goodHistory();
    change(history);
    return check(history).map(({ invariant }) => invariant);
  };

  it('hold for a job that went well', () => {
    expect(found(() => {})).toEqual([]);
  });

  it('find an accepted job that is gone', () => {
    const gone = found(({ accepted }) => accepted.set('x', { jobId: 'x', kind: 'safe' }));
    expect(gone).toEqual(['accepted_is_kept']);
  });

  it('find a job that does not end, and one that ended otherwise before', () => {
    expect(found(({ stored }) => stored.set('j', { ...ENDED, state: 'running' }))).toContain(
      'one_end',
    );
    expect(found(({ seen }) => seen.push({ jobId: 'j', state: 'failed' }))).toEqual(['one_end']);
  });

  it('find a second end, an end that is not the last, and a result from nowhere', () => {
    const events = [TOKEN, FINAL, { ...FINAL, cursor: 3, seq: 3 }];
    expect(found(({ stored }) => stored.set('j', { ...ENDED, events }))).toContain('one_result');
    const early = [
      { ...FINAL, cursor: 1, seq: 1 },
      { ...TOKEN, cursor: 2, seq: 2 },
    ];
    expect(found(({ stored }) => stored.set('j', { ...ENDED, events: early }))).toContain(
      'one_result',
    );
    expect(found(({ effects }) => effects.splice(0))).toEqual(['one_result']);
  });

  it('find a call that ran twice, unless it may', () => {
    const again = { jobId: 'j', kind: 'call', answer: 'B' } as const;
    expect(found(({ effects }) => effects.push(again))).toEqual(['at_most_once']);
    const safe = found(({ accepted, effects }) => {
      accepted.set('j', { jobId: 'j', kind: 'safe' });
      effects.push(again);
    });
    expect(safe).toEqual([]);
  });

  it('find an answer that was used twice', () => {
    const answer = { jobId: 'j', kind: 'answer', answer: 'yes' } as const;
    expect(found(({ effects }) => effects.push(answer))).toEqual([]);
    expect(found(({ effects }) => effects.push(answer, answer))).toEqual(['answered_once']);
  });

  it('find a gap, a repetition, another event and an early end in a stream', () => {
    const streams = [[FINAL], [TOKEN, TOKEN, FINAL], [{ ...TOKEN, text: 'b' }, FINAL], [TOKEN]];
    for (const items of streams) {
      const broken = found((history) => {
        history.streams[0] = { jobId: 'j', items, isComplete: true, reconnects: 1 };
      });
      expect(broken).toEqual(['stream_whole']);
    }
    const events = [TOKEN, { ...FINAL, seq: 3 }];
    expect(found(({ stored }) => stored.set('j', { ...ENDED, events }))).toContain('stream_whole');
  });

  it('let a leg begin after a question', () => {
    const asked = { cursor: 1, seq: 1, type: 'awaiting_input', text: '' };
    const events = [asked, { ...FINAL, seq: 1 }];
    const legs = found(({ stored, streams }) => {
      stored.set('j', { ...ENDED, events });
      streams.splice(0);
    });
    expect(legs).toEqual([]);
  });

  it('find a key with two jobs, and a gateway that ended by itself', () => {
    expect(found(({ keys }) => keys.get('k')?.add('other'))).toEqual(['same_key_same_job']);
    expect(found(({ deaths }) => deaths.push('heap'))).toEqual(['stays_up']);
  });
});
