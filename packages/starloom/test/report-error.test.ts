import { createTrace, FabricError } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { reportError, toUsageError, upstreamLines, withHelp } from '../src/report-error.ts';
import { withoutPaint } from '../src/terminal-text.ts';

function report(
  error: unknown,
  options: { json?: boolean; trace?: ReturnType<typeof createTrace> } = {},
) {
  const lines: string[] = [];
  const code = reportError(error, { json: false, tell: (text) => lines.push(text), ...options });
  return { code, text: withoutPaint(lines.join('\n')) };
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
    ['gateway_unreachable', 69],
    ['config', 78],
  ])('ends with the exit code of its reason: %s %i', (reason, code) => {
    const error = new FabricError('BAD_INPUT', 'x', { details: { reason, problems: [] } });
    expect(report(error).code).toBe(code);
  });

  it('names a gateway that does not answer as such, and an agent that does not as before', () => {
    const of = (reason: string) => new FabricError('AGENT_OFFLINE', 'x', { details: { reason } });
    expect(report(of('gateway_unreachable')).text).toBe('error GATEWAY_UNREACHABLE: x');
    const { text } = report(of('gateway_unreachable'), { json: true });
    expect(JSON.parse(text).error.code).toBe('GATEWAY_UNREACHABLE');
    expect(report(of('unreachable'))).toEqual({ code: 5, text: 'error AGENT_OFFLINE: x' });
  });

  it('names commands where the gateway names tools', () => {
    const fix = 'list your jobs with fabric.job.list, or start it again with fabric.job.retry';
    const error = new FabricError('JOB_NOT_FOUND', 'x', { details: { job_id: '7', fix } });
    expect(report(error).text).toContain(
      'fix: list your jobs with "starloom jobs", or start it again with "starloom jobs retry 7"',
    );
  });

  it('shows the cause of a bug to people, and not to programs', () => {
    const bug = new TypeError('undefined is not a loom');
    expect(report(bug)).toMatchObject({ code: 1, text: expect.stringContaining('not a loom') });
    expect(report(bug, { json: true }).text).not.toContain('not a loom');
  });

  it('shows what the agent’s side said, and which agents were tried', () => {
    const error = new FabricError('AGENT_OFFLINE', 'files did not start', {
      details: {
        primary: 'files@local: offline',
        fallbacks: ['other@local: timeout'],
        upstream: { exit_code: 1, stderr: ['Error: no such folder', '    at main'] },
        fix: 'create the folder',
      },
    });
    expect(report(error).text.split('\n')).toEqual([
      'error AGENT_OFFLINE: files did not start',
      '  tried: files@local: offline, then other@local: timeout',
      '  exit code: 1',
      '  its stderr:',
      '    Error: no such folder',
      '        at main',
      '  fix: create the folder',
    ]);
  });

  it.each([
    ['a text', 'boom', ['it said: boom']],
    ['a status', { status: 503, body: 'busy' }, ['status: 503', 'it answered: busy']],
    ['content of MCP', { content: [{ type: 'text', text: 'denied' }] }, ['it answered: denied']],
    [
      'an error of ours',
      { message: 'no file', details: { reason: 'not_found', fix: 'list it' } },
      ['it said: no file', 'reason: not_found', 'fix: list it'],
    ],
    ['nothing', undefined, []],
  ])('shows %s of the upstream in one line each', (_, upstream, lines) => {
    expect(upstreamLines(upstream)).toEqual(lines);
  });

  it('shows no more than the last lines of a long text', () => {
    const stderr = Array.from({ length: 100 }, (__, index) => `line ${index}`);
    const lines = upstreamLines({ stderr });
    expect(lines).toHaveLength(14);
    expect(lines.at(-1)).toBe('  line 99');
  });

  it('names the help of a command that was used wrongly, unless there is a better fix', () => {
    const fixOf = (error: unknown) => FabricError.from(error).details.fix;
    const help = 'see "starloom agent run --help"';
    expect(fixOf(withHelp(toUsageError('say --acp'), 'starloom agent run'))).toBe(help);
    expect(fixOf(withHelp(toUsageError('no', 'name a file'), 'starloom agent run'))).toBe(
      'name a file',
    );
    expect(fixOf(withHelp(new FabricError('TIMEOUT', 'late'), 'starloom up'))).toBeUndefined();
  });

  it('puts the parser’s hint of a usage error on one line', () => {
    expect(toUsageError("error: unknown command 'x'\n(Did you mean y?)").message).toBe(
      "unknown command 'x' (Did you mean y?)",
    );
  });
});
