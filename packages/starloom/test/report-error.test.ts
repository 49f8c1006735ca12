import { createTrace, FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { reportError, toUsageError } from '../src/report-error.ts';

function report(
  error: unknown,
  options: { json?: boolean; trace?: ReturnType<typeof createTrace> } = {},
) {
  const lines: string[] = [];
  const code = reportError(error, { json: false, tell: (text) => lines.push(text), ...options });
  return { code, text: lines.join('\n') };
}

describe('the report of an error', () => {
  it('has code, message, fix and trace for people, and the exit code of its row', () => {
    const trace = createTrace();
    const error = new FabricError('TIMEOUT', 'percy took too long', {
      details: { fix: 'raise timeout_ms' },
    });
    expect(report(error, { trace })).toEqual({
      code: 6,
      text: `error TIMEOUT: percy took too long\n  fix: raise timeout_ms\n  trace: ${trace.trace_id}`,
    });
  });

  it('is the one failure payload as JSON', () => {
    const trace = createTrace();
    const error = new FabricError('AUTH_DENIED', 'no', { details: { reason: 'expired' } });
    const { code, text } = report(error, { json: true, trace });
    expect(code).toBe(3);
    expect(JSON.parse(text)).toEqual({
      ok: false,
      error: { code: 'AUTH_DENIED', message: 'no', details: { reason: 'expired' } },
      trace,
    });
  });

  it.each([
    ['usage', 64],
    ['unreachable', 69],
    ['config', 78],
  ])('ends with the exit code of its reason: %s %i', (reason, code) => {
    const error = new FabricError('BAD_INPUT', 'x', { details: { reason, problems: [] } });
    expect(report(error).code).toBe(code);
  });

  it('shows the cause of a bug to people, and not to programs', () => {
    const bug = new TypeError('undefined is not a loom');
    expect(report(bug)).toMatchObject({ code: 1, text: expect.stringContaining('not a loom') });
    expect(report(bug, { json: true }).text).not.toContain('not a loom');
  });

  it('puts the parser’s hint of a usage error on one line', () => {
    expect(toUsageError("error: unknown command 'x'\n(Did you mean y?)").message).toBe(
      "unknown command 'x' (Did you mean y?)",
    );
  });
});
