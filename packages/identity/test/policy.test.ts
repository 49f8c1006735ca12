import { manifestSchema } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { Authoriser, LOCAL_PRINCIPAL, type Principal } from '../src/index.ts';
import {
  compileExpression,
  NO_RULES,
  Policy,
  type PolicySpec,
  type RuleSpec,
} from '../src/policy/index.ts';

const ada: Principal = { ...LOCAL_PRINCIPAL, id: 'ada', tier: 'org', mode: 'psk', keyId: 'desk' };
const guest: Principal = { ...ada, id: 'guest', tier: 'public', scopes: ['agent:*'] };
const NOON = Date.parse('2026-03-02T12:00:00Z');
const NIGHT = Date.parse('2026-03-02T23:00:00Z');

const agent = (fields: object = {}) =>
  manifestSchema.parse({
    agent_id: 'percy',
    endpoint: { transport: 'http', uri: 'http://127.0.0.1:1/' },
    trust_tier: 'org',
    tags: ['planner'],
    ...fields,
  });
const percy = agent();

const rule = (when: string, effect: RuleSpec['effect'] = 'deny', name = 'one'): RuleSpec => {
  return { name, when, effect };
};

function policyOf(rules: readonly RuleSpec[], spec: Partial<PolicySpec> = {}, failed?: string[]) {
  return new Policy(
    { ...NO_RULES, ...spec, rules },
    { onFailure: (name: string) => failed?.push(name) },
  );
}

const call = (at: { depth?: number; time?: number; originTier?: Principal['tier'] } = {}) => {
  return { depth: 1, time: NOON, originTier: 'org' as const, ...at };
};

describe('a rule', () => {
  it.each([
    ['principal.id == "ada"', true],
    ['principal.tier == "org" && principal.mode == "psk" && principal.key_id == "desk"', true],
    ['principal.on_behalf_of == "ada" && principal.delegate == ""', true],
    ['"*" in principal.scopes', true],
    ['principal.scopes.exists(s, s.startsWith("agent:"))', false],
    ['agent.id == "percy" && agent.node == "local" && agent.trust_tier == "org"', true],
    ['"planner" in agent.tags', true],
    ['agent.tags.all(t, t != "finance")', true],
    ['capability.glob("rea*")', true],
    ['capability.glob("read_*")', false],
    ['principal.tier.isAtLeast("partner")', true],
    ['principal.tier.isAtLeast("local")', false],
    ['origin.tier == "org"', true],
    ['depth > 2', false],
    ['time.getHours() == 12 && time.getDayOfWeek() == 1', true],
    ['time.getHours("Asia/Taipei") == 20', true],
    ['time < timestamp("2026-03-03T00:00:00Z")', true],
    ['true', true],
  ])('%s is %s', (when, expected) => {
    const { effect } = policyOf([rule(when)]).decide(ada, percy, 'reason', call());
    expect(effect).toBe(expected ? 'deny' : 'allow');
  });

  it.each([
    ['capability == "fs:read_file"', true],
    ['"fs.read_file" == capability', true],
    ['capability != "fs:read_file"', false],
    ["capability in ['git:status', 'fs:read_file']", true],
    ['capability.startsWith("fs:") && principal.id == "key:ada"', true],
    ['capability.glob("*:read_*")', true],
    ['!(capability == "fs:read_file" || capability == "x")', false],
    ['["git:*", "fs:*"].exists(one, capability.glob(one) && principal.id == "key:ada")', true],
    ['agent.id + ":" + capability == "percy:fs:read_file"', true],
    ['capability == "fs\\u003aread_file"', true],
    ['capability == "fs_read_file"', false],
  ])('[A7] %s is %s of a capability in both spellings', (when, expected) => {
    const key = { ...ada, id: 'key:ada' };
    for (const name of ['fs:read_file', 'fs.read_file']) {
      const { effect } = policyOf([rule(when)]).decide(key, percy, name, call());
      expect(effect).toBe(expected ? 'deny' : 'allow');
    }
  });

  it.each([
    ['principal.teir == "org"', /No such key: teir at character 11/],
    ['user.id == "ada"', /Unknown variable: user/],
    ['depth == "two"', /no such overload/],
    ['principal.id ==', /Unexpected token/],
    ['', /not valid/],
    ['principal.id', /a string, not true or false/],
    ['capability.matches("(a+)+$")', /"matches" is not available/],
    ['dyn(principal).secret == 1', /"dyn" is not available/],
    ['cel.bind(x, "a", x == "a")', /"bind" is not available/],
    ['agent.tags.exists(a, agent.tags.exists(b, a == b))', /inside another loop/],
    ['time.getHours("Europe/Berln") > 8', /cannot be evaluated/],
    ['time > timestamp("tomorrow")', /cannot be evaluated/],
    ['principal.tier.isAtLeast("boss")', /"boss" is no tier/],
    [`capability == "${'x'.repeat(5000)}"`, /too long/],
    [`${'('.repeat(200)}true${')'.repeat(200)}`, /not valid/],
  ])('%s is refused with a cause and a fix', (when, message) => {
    const problem = compileExpression(when);
    expect(problem).toMatchObject({ message: expect.stringMatching(message) });
    expect(problem).toHaveProperty('fix', expect.stringMatching(/\w/));
    expect(() => policyOf([rule(when)])).toThrow('Rule "one"');
  });

  it('that fails denies and is named, also behind one that allows', () => {
    const failed: string[] = [];
    const rules = [rule('agent.tags[3] == "x"', 'allow', 'broken'), rule('true', 'allow', 'rest')];
    const policy = policyOf(rules, {}, failed);
    expect(policy.decide(ada, percy, 'reason', call())).toMatchObject({
      effect: 'deny',
      rule: 'broken',
    });
    expect(failed).toEqual(['broken']);
  });
});

describe('a policy', () => {
  it('is decided by the first rule that matches, and names it', () => {
    const policy = policyOf([
      rule('capability == "read"', 'allow', 'reading'),
      rule('principal.id == "ada"', 'deny', 'not-ada'),
    ]);
    expect(policy.decide(ada, percy, 'read', call())).toMatchObject({ rule: 'reading' });
    expect(policy.decide(ada, percy, 'write', call())).toMatchObject({
      effect: 'deny',
      rule: 'not-ada',
    });
    expect(policy.decide(guest, percy, 'write', call())).toEqual({ effect: 'allow' });
  });

  it('can refuse what no rule allows', () => {
    const policy = policyOf([rule('capability == "read"', 'allow')], { default: 'deny' });
    expect(policy.decide(ada, percy, 'write', call())).toEqual({ effect: 'deny', rule: 'default' });
    expect(policy.decide(ada, percy, 'read', call())).toMatchObject({ effect: 'allow' });
  });

  it('hides what no call could be allowed, and shows what is only refused now', () => {
    const policy = policyOf([
      rule('time.getHours() >= 18', 'deny', 'office-hours'),
      rule('capability == "write"', 'deny', 'read-only'),
    ]);
    expect(policy.hides(ada, percy, 'write')).toMatchObject({ rule: 'read-only' });
    expect(policy.hides(ada, percy, 'read')).toBeUndefined();
    const { decide } = policy;
    expect(decide.call(policy, ada, percy, 'read', call())).toMatchObject({ effect: 'allow' });
    expect(decide.call(policy, ada, percy, 'read', call({ time: NIGHT }))).toMatchObject({
      effect: 'deny',
      rule: 'office-hours',
    });
  });

  it('shows what a rule on the call could allow, though the rest denies it', () => {
    const policy = policyOf([rule('depth == 1', 'allow', 'roots')], { default: 'deny' });
    expect(policy.hides(ada, percy, 'read')).toBeUndefined();
    expect(policy.decide(ada, percy, 'read', call({ depth: 2 }))).toMatchObject({
      rule: 'default',
    });
  });

  it('lets a caller reach an agent only if something of it may be used', () => {
    const policy = policyOf([
      rule('capability == "read" && agent.id == "percy"', 'allow'),
      rule('principal.id == "ada"', 'deny'),
    ]);
    expect(policy.mayReach(ada, percy)).toBe(true);
    expect(policy.mayReach(ada, agent({ agent_id: 'other' }))).toBe(true);
    expect(
      policyOf([rule('agent.id == "other"')]).mayReach(ada, agent({ agent_id: 'other' })),
    ).toBe(false);
  });

  it('keeps callers apart, and an agent that changed from what it was', () => {
    const policy = policyOf([rule('principal.tier == "public" || "finance" in agent.tags')]);
    const effectOf = (caller: Principal, target = percy) =>
      policy.decide(caller, target, 'read', call()).effect;
    expect([effectOf(ada), effectOf(guest), effectOf(ada)]).toEqual(['allow', 'deny', 'allow']);
    expect(effectOf(ada, agent({ tags: ['finance'] }))).toBe('deny');
  });

  it('never widens what scopes and tiers allow', () => {
    const authoriser = new Authoriser(policyOf([rule('true', 'allow')]));
    const nothing = { ...ada, scopes: [] };
    const stranger: Principal = { ...ada, tier: 'public' };
    for (const principal of [nothing, stranger]) {
      expect(authoriser.mayReach(principal, percy)).toBe(false);
      expect(authoriser.maySee(principal, percy, 'read')).toBe(false);
      expect(authoriser.maySeeResources(principal, percy)).toBe(false);
    }
    expect(authoriser.maySee(ada, percy, 'read')).toBe(true);
  });
});

describe('the tier that an agent demands', () => {
  const strict = agent({ auth: { min_tier: 'org' } });

  it('[G31] hides it from callers below, and refuses chains that began below', () => {
    const policy = policyOf([]);
    expect(policy.hides(guest, strict, 'read')).toMatchObject({ rule: 'min_tier' });
    expect(policy.hides(ada, strict, 'read')).toBeUndefined();
    expect(policy.decide(ada, strict, 'read', call())).toMatchObject({ effect: 'allow' });
    expect(policy.decide(ada, strict, 'read', call({ originTier: 'partner' }))).toMatchObject({
      effect: 'deny',
      rule: 'min_tier',
    });
  });

  it('can send them to other agents instead', () => {
    const policy = policyOf([], { untrusted: 'degrade' });
    expect(policy.decide(guest, strict, 'read', call({ originTier: 'public' }))).toMatchObject({
      effect: 'degrade',
      rule: 'min_tier',
    });
  });

  it('does not show what rules hide', () => {
    const policy = policyOf([rule('capability == "write"')], { untrusted: 'degrade' });
    expect(policy.hides(ada, strict, 'write')).toMatchObject({ effect: 'deny', rule: 'one' });
  });
});
