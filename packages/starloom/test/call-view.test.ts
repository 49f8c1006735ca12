import { createTrace, type FabricEvent } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { CallView } from '../src/commands/call-view.ts';
import { withoutPaint } from '../src/terminal-text.ts';

function screen(isWatched: boolean) {
  const shown = { out: '', err: [] as string[], status: [] as string[] };
  const view = new CallView({
    isWatched,
    write: (text) => {
      shown.out += text;
    },
    print: (text) => {
      shown.out += `${text}\n`;
    },
    tell: (text) => shown.err.push(withoutPaint(text)),
    showStatus: (text) => shown.status.push(text),
  });
  let seq = 0;
  const show = (type: FabricEvent['type'], data: object) => {
    seq += 1;
    const at = new Date(0).toISOString();
    view.show({ type, seq, at, trace: createTrace(), agent_id: 'percy', data } as FabricEvent);
  };
  return { shown, view, show };
}

describe('a call that is watched', () => {
  it('shows tokens as they come, and tool calls and progress beside them', () => {
    const { shown, view, show } = screen(false);
    show('progress', { percent: 40, message: 'reading' });
    show('token', { text: 'one ' });
    show('tool_call', { id: '1', name: 'fs.read', args: { path: 'a' }, phase: 'start' });
    show('tool_call', { id: '1', name: 'fs.read', args: {}, phase: 'end' });
    show('token', { text: 'two' });
    view.finish('one two');
    expect(shown.out).toBe('one \ntwo\n');
    expect(shown.err).toEqual([
      '(percy: 40 % reading)',
      '(percy uses fs.read {"path":"a"})',
      '(percy has the answer of fs.read)',
    ]);
  });

  it('shows progress on one line of a terminal, but not over words', () => {
    const { shown, show } = screen(true);
    show('progress', { percent: 10 });
    show('token', { text: 'word' });
    show('progress', { message: 'more' });
    expect(shown.status).toEqual(['percy: 10 %']);
    expect(shown.err).toEqual(['(percy: more)']);
  });

  it('prints the answer once, and what was taken back again', () => {
    const { shown, view, show } = screen(false);
    show('token', { text: 'wrong' });
    show('status', { state: 'discard' });
    show('token', { text: 'right' });
    view.finish('right');
    expect(shown.out).toBe('wrong\nright\n');
    expect(shown.err).toEqual(['(what was said so far no longer counts)']);
  });
});
