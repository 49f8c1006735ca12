import { describe, expect, it } from 'vitest';
import {
  mayAdministrate,
  mayCall,
  mayReach,
  mayUseAgent,
  mayUseToolset,
  scopeProblem,
} from '../src/index.ts';

const org = (...scopes: string[]) => ({ scopes, tier: 'org' }) as const;
const guest = (...scopes: string[]) => ({ scopes, tier: 'public' }) as const;

describe('scopes', () => {
  it.each([
    ['everything', org('*'), true],
    ['the toolset of agents', org('toolset:agents'), true],
    ['the agent', org('agent:percy'), true],
    ['agents by a glob', org('agent:per*'), true],
    ['the capability', org('capability:percy/reason'), true],
    ['capabilities by a glob', org('capability:*/rea*'), true],
    ['another agent', org('agent:coder'), false],
    ['another capability', org('capability:percy/plan'), false],
    ['another toolset', org('toolset:coordination'), false],
    ['nothing', org(), false],
    ['everything, from afar', guest('*'), false],
    ['the toolset of agents, from afar', guest('toolset:agents'), false],
    ['the agent, from afar', guest('agent:percy'), true],
    ['the capability, from afar', guest('capability:percy/reason'), true],
  ])('%s: may it call percy/reason?', (_, caller, may) => {
    expect(mayCall(caller, 'percy', 'reason')).toBe(may);
    expect(mayReach(caller, 'percy')).toBe(may || caller.scopes.includes('capability:percy/plan'));
  });

  it('[A7] name a capability in any spelling', () => {
    for (const scope of ['capability:percy/fs:read', 'capability:percy/fs.read']) {
      for (const name of ['fs:read', 'fs.read']) {
        expect(mayCall(org(scope), 'percy', name)).toBe(true);
      }
      expect(mayCall(org(scope), 'percy', 'fs_read')).toBe(false);
    }
  });

  it('open toolsets and administration by their own scopes', () => {
    expect(mayUseToolset(org('toolset:coordination'), 'coordination')).toBe(true);
    expect(mayUseToolset(org('toolset:agents'), 'coordination')).toBe(false);
    expect(mayUseToolset(org('*'), 'coordination')).toBe(true);
    expect(mayAdministrate(org('admin:metrics'), 'metrics')).toBe(true);
    expect(mayAdministrate(org('admin:metrics'), 'keys')).toBe(false);
    expect(mayAdministrate(org(), 'metrics')).toBe(false);
  });

  it('with another prefix are mistakes', () => {
    for (const scope of ['*', 'agent:a', 'capability:a/b', 'toolset:x', 'admin:keys']) {
      expect(scopeProblem(scope)).toBeUndefined();
    }
    for (const scope of ['agents:a', 'tool:x', '', 'Agent:a']) {
      expect(scopeProblem(scope)).toContain('expected');
    }
  });
});

describe('resources and prompts of an agent', () => {
  it('need a scope for the whole agent', () => {
    expect(mayUseAgent(org('agent:percy'), 'percy')).toBe(true);
    expect(mayUseAgent(org('capability:percy/*'), 'percy')).toBe(false);
    expect(mayUseAgent(guest('*'), 'percy')).toBe(false);
    expect(mayUseAgent(org('*'), 'percy')).toBe(true);
  });
});
