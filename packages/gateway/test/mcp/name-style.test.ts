import { describe, expect, it } from 'vitest';
import { nameStyleFor } from '../../src/mcp/tool-listing.ts';

describe('the spelling of tool names', () => {
  it.each([
    ['claude-code', 'underscores'],
    ['Claude Desktop', 'underscores'],
    ['codex-mcp-client', 'underscores'],
    ['Cursor', 'underscores'],
    ['Visual Studio Code', 'underscores'],
    ['copilot-cli', 'underscores'],
    [undefined, 'underscores'],
    ['  ', 'underscores'],
    ['mcp-inspector', 'dots'],
    ['my-script', 'dots'],
  ])('chosen for %s is %s', (client, style) => {
    expect(nameStyleFor('auto', client)).toBe(style);
  });

  it('follows the configuration where it names one', () => {
    expect(nameStyleFor('dots', 'claude-code')).toBe('dots');
    expect(nameStyleFor('underscores', 'my-script')).toBe('underscores');
  });
});
