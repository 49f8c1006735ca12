import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parseRoute, toHref } from '../src/state/router.ts';
import { copyAs, quoted } from '../src/ui/copy-as.ts';

const call = {
  agent_id: 'percy',
  capability: 'reason',
  arguments: { task: "it's `id` $(id) \\ \n" },
};

describe('a call as something to paste', () => {
  it('is quoted so that a shell expands nothing of it', () => {
    const hostile = 'a\'b `id` $(id) $HOME \\ "x" \n!';
    const printed = execFileSync('sh', ['-c', `printf %s ${quoted(hostile)}`], {
      encoding: 'utf8',
    });
    expect(printed).toBe(hostile);
  });

  it('never holds a key, and names the endpoint of this gateway', () => {
    for (const kind of ['curl', 'TypeScript'] as const) {
      const text = copyAs(kind, call, 'http://127.0.0.1:7420');
      expect(text).toContain('http://127.0.0.1:7420/mcp');
      expect(text).toContain('STARLOOM_KEY');
    }
    const request = JSON.parse(copyAs('MCP', call, 'http://127.0.0.1:7420'));
    expect(request).toMatchObject({ method: 'tools/call', params: { arguments: call } });
  });
});

describe('addresses of screens', () => {
  it('are read back as they were written', () => {
    const href = toHref(['calls', 'a/b ?#%'], { agent: 'x&y', empty: undefined });
    const { path, query } = parseRoute(href);
    expect(path).toEqual(['calls', 'a/b ?#%']);
    expect([...query]).toEqual([['agent', 'x&y']]);
    expect(parseRoute('#/%E0%A4%A').path).toEqual(['%E0%A4%A']);
    expect(parseRoute('').path).toEqual([]);
  });
});
