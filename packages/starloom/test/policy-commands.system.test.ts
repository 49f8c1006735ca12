import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runStarloom, scratch } from './run-starloom.ts';
import { startGateway } from './running-gateway.ts';

const GUIDE = new URL('../../../docs/security.md', import.meta.url);

/** A file as the guide shows it. */
async function fromGuide(name: string): Promise<string> {
  const text = await readFile(GUIDE, 'utf8');
  const [, body] = text.split(`\`\`\`yaml\n# ${name}\n`);
  return body?.split('```')[0] ?? '';
}

const RULES = `policy:
  rules:
    - name: no-shouting
      when: capability == "shout"
      effect: deny
`;
const test = (expected: string) => `- name: nobody shouts
  caller: {id: ada}
  agent: {id: echo, trust_tier: org}
  capability: shout
  expect: ${expected}
`;

describe('starloom policy', () => {
  it('the rules and tests of the guide agree', async () => {
    const files = {
      'starloom.yaml': await fromGuide('starloom.yaml'),
      'policy-tests.yaml': await fromGuide('policy-tests.yaml'),
    };
    await using place = await scratch(files);
    const cwd = place.folder;
    const { code, stdout, stderr } = await runStarloom(['policy', 'test', '--json'], { cwd });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, passed: 5, failed: 0 });
    expect(code).toBe(0);
    const checked = await runStarloom(['policy', 'check'], { cwd });
    expect(checked.stdout).toMatch(/office-hours +deny +call/);
    expect(checked.stdout).toMatch(/finance-is-closed +deny +agent/);
  });

  it('exits 1 with the difference when a decision is another one', async () => {
    const files = {
      'starloom.yaml': RULES,
      'good.yaml': test('{effect: deny, rule: no-shouting, visible: false}'),
      'bad.yaml': test('{effect: allow, visible: true}'),
    };
    await using place = await scratch(files);
    const run = (file: string) =>
      runStarloom(['policy', 'test', '--fixtures', file], { cwd: place.folder });
    expect((await run('good.yaml')).code).toBe(0);
    const { code, stdout } = await run('bad.yaml');
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAIL {2}nobody shouts/);
    expect(stdout).toMatch(/expected {2}allow, visible/);
    expect(stdout).toMatch(/got {7}deny by no-shouting, looks unknown/);
  });

  it('refuses a rule that does not compile, with its line', async () => {
    const broken = RULES.replace('capability ==', 'capabilty ==');
    await using place = await scratch({ 'starloom.yaml': broken });
    const { code, stderr } = await runStarloom(['policy', 'check'], { cwd: place.folder });
    expect(code).toBe(78);
    expect(stderr).toMatch(/starloom\.yaml:4:\d+.*policy\.rules\[0\]\.when.*Unknown variable/);
    expect(stderr).toMatch(/fix: use principal/);
  });

  it('shares rules with a realm alone', async () => {
    const files = { 'starloom.yaml': RULES, 'rules.yaml': 'rules: []\n' };
    await using place = await scratch(files);
    const share = (...words: string[]) =>
      runStarloom(['policy', 'share', ...words], { cwd: place.folder });
    expect((await share('rules.yaml')).stderr).toMatch(/names no realm[\s\S]*fix: set realm\.key/);
    expect((await share()).stderr).toContain('name a file with rules, or pass --clear');
  });

  it('a call that a rule refuses exits 3 and names the rule, and its reason', async () => {
    const rules = RULES.replace(
      'capability == "shout"\n      effect: deny',
      'time > timestamp("2020-01-01T00:00:00Z")\n      effect: deny\n      reason: closed for repairs',
    );
    await using gateway = await startGateway({ 'starloom.yaml': rules });
    const { code, stderr } = await gateway.run('call', 'echo', 'say', 'hello');
    expect(code).toBe(3);
    expect(stderr).toMatch(/POLICY_DENIED/);
    expect(stderr).toMatch(/"no-shouting".*closed for repairs/);
  });

  it('says what a new rule would change for recorded calls', async () => {
    await using gateway = await startGateway();
    await gateway.run('call', 'echo', 'say', 'hello');
    await gateway.run('call', 'echo', 'say', 'again');
    await gateway.stop();
    const before = await gateway.run('policy', 'test', '--recorded');
    expect(before.stdout).toContain('0 of 2 recorded calls');
    const rules = RULES.replace('"shout"', '"say" && principal.id == "local" && depth == 1');
    await writeFile(join(gateway.folder, 'starloom.yaml'), rules);
    const { code, stdout } = await gateway.run('policy', 'test', '--recorded');
    expect(stdout).toContain('2×  local → echo/say  allow → deny by no-shouting');
    expect(stdout).toContain('2 of 2 recorded calls would be decided differently');
    expect(code).toBe(0);
  });
});
