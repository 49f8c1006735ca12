import { describe, expect, it } from 'vitest';
import { toPeopleLine } from '../src/people-log.ts';
import {
  fit,
  paint,
  render,
  table,
  toPlainText,
  toSafeJson,
  wantsColour,
  widthOf,
} from '../src/terminal-text.ts';

describe('text of agents on a terminal', () => {
  it.each([
    ['a colour', 'a\x1b[31mred\x1b[0m', 'ared'],
    ['a cleared screen', '\x1b[2J\x1b[1;1Hfake prompt', 'fake prompt'],
    ['a window title', '\x1b]0;owned\x07after', 'after'],
    ['a link', '\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\', 'text'],
    ['a device string', '\x1bPq#0\x1b\\after', 'after'],
    ['an 8-bit sequence', '\x9b31mred', 'red'],
    ['a sequence that is not finished', 'a\x1b', 'a'],
    ['a line written over', 'safe\rrm -rf', 'saferm -rf'],
    ['reordered text', 'a\u202ecod.exe\u202c', 'acod.exe'],
    ['a bell and a backspace', 'a\x07\x08b', 'ab'],
  ])('does nothing: %s', (_, text, shown) => {
    expect(toPlainText(text)).toBe(shown);
    expect(render(text, true)).toBe(shown);
  });

  it('keeps line breaks, tabs and every script', () => {
    const text = 'a\n\tשלום 你好 👍\n';
    expect(render(text, true)).toBe(text);
  });

  it('is lossless as JSON, and just as harmless', () => {
    const value = { text: '\x1b[2J \x9b \u202e \ufdd0' };
    const json = toSafeJson(value);
    expect(toPlainText(json)).toBe(json);
    expect(JSON.parse(json)).toEqual(value);
  });
});

describe('paint', () => {
  it('becomes a sequence where colours are wanted, and nothing elsewhere', () => {
    expect(render(`is ${paint('green', 'online')}`, true)).toBe('is \x1b[32monline\x1b[39m');
    expect(render(`is ${paint('green', 'online')}`, false)).toBe('is online');
  });

  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ TERM: 'dumb' }, true, false],
  ])('honours %j on a terminal: %s', (env, isTerminal, wanted) => {
    expect(wantsColour(env, isTerminal)).toBe(wanted);
  });
});

describe('a table', () => {
  const rows = [
    ['files', paint('green', 'online'), 'read_file, write_file, list_directory, move_file'],
    ['图书', paint('red', 'offline'), 'x'],
  ];

  it('aligns columns by what is seen', () => {
    const lines = table(['AGENT', 'HEALTH', 'OFFERS'], rows).split('\n');
    expect(lines.map((line) => widthOf(line.slice(0, line.search(/OFFERS|read_file|x$/))))).toEqual(
      [16, 16, 16],
    );
  });

  it('fits the width of the terminal', () => {
    const lines = table(['AGENT', 'HEALTH', 'OFFERS'], rows, 40).split('\n');
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(40);
    expect(lines[1]).toMatch(/…$/);
  });

  it('keeps the first column whole as long as others can be narrowed', () => {
    const id = '5cbda5ae-35eb-4ff3-9080-3b0b05aedea8';
    const [, line = ''] = table(
      ['JOB', 'STATE', 'CALL'],
      [[id, 'succeeded', 'x'.repeat(60)]],
      60,
    ).split('\n');
    expect(line).toContain(id);
    expect(widthOf(line)).toBeLessThanOrEqual(60);
  });

  it('cuts what is painted without losing the end of the paint', () => {
    expect(render(fit(paint('red', 'abcdef'), 4), true)).toBe('\x1b[31mabc\x1b[39m…');
  });
});

describe('the log for people', () => {
  const shown = (fields: object) => render(toPeopleLine(JSON.stringify(fields)) ?? '', false);
  const time = '2026-01-02T03:04:05.000Z';

  it('has one short line for a call, and the reason of one that failed', () => {
    const call = { level: 'info', time, message: 'call', agent_id: 'percy', capability: 'reason' };
    expect(shown({ ...call, ok: true, ms: 12.4, trace_id: 'x' })).toMatch(
      /^\d\d:\d\d:05 {2}percy\.reason {2}ok {2}12 ms$/,
    );
    const failed = { ...call, level: 'warn', ok: false, code: 'TIMEOUT', ms: 5 };
    expect(shown({ ...failed, error: { message: 'took too long' } })).toMatch(
      /warn {2}percy\.reason {2}TIMEOUT {2}5 ms {2}took too long$/,
    );
  });

  it('shows a request that called no agent only when it failed', () => {
    const line = { level: 'warn', time, message: 'request', method: 'tools/list', ms: 1 };
    expect(toPeopleLine(JSON.stringify({ ...line, ok: true }))).toBeUndefined();
    const failed = { ...line, ok: false, code: 'AUTH_DENIED', error: { message: 'no key' } };
    expect(shown(failed)).toMatch(/warn {2}tools\/list {2}AUTH_DENIED {2}1 ms {2}no key$/);
  });

  it('shows why an agent is offline, and the fix', () => {
    const line = { level: 'warn', time, message: 'agent is offline', agent_id: 'bad' };
    const why = { reason: 'The agent process ended', upstream: { exit_code: 2, stderr: 'a\nb' } };
    expect(shown({ ...line, ...why, fix: 'look' })).toMatch(
      / {2}agent_id=bad {2}The agent process ended, exit code: 2, its stderr:, a, b {2}fix: look$/,
    );
  });

  it('shows other lines with their fields, and what is no JSON as it is', () => {
    const line = { level: 'warn', time, message: 'agent is gone', agent_id: 'a', span_id: 'x' };
    expect(shown(line)).toMatch(/warn {2}agent is gone {2}agent_id=a$/);
    expect(toPeopleLine('plain')).toBe('plain');
  });
});
