// What a caller hands on to an agent: capabilities to call (`cap`, globs over `agent/capability`) and
// other scopes (`scp`). Rights of administration are never handed on. An intersection is never wider
// than either side; where two globs overlap only in part, it is narrower than it could be.

import { matchesGlob, normalName, type TrustTier } from '@starloom/core';

export interface Authority {
  readonly cap: readonly string[];
  readonly scp: readonly string[];
}

const ALL_CALLS = '*/*';
const TRUSTED: ReadonlySet<TrustTier> = new Set(['local', 'org']);

/** Scopes of a key or a manifest; of `*` and toolsets only trusted tiers get agents. */
export function toAuthority(scopes: readonly string[], tier: TrustTier): Authority {
  const cap: string[] = [];
  const scp: string[] = [];
  for (const scope of scopes) {
    const name = scope.slice(scope.indexOf(':') + 1);
    const isToolset = scope.startsWith('toolset:');
    const isEveryAgent = scope === '*' || (isToolset && matchesGlob(name, 'agents'));
    if (isEveryAgent && TRUSTED.has(tier)) cap.push(ALL_CALLS);
    if (scope.startsWith('agent:')) cap.push(`${name}/*`);
    if (scope.startsWith('capability:')) cap.push(name);
    if (scope === '*') scp.push('toolset:*');
    if (isToolset) scp.push(scope);
  }
  return { cap: widest(cap), scp: widest(scp) };
}

/** The same as scopes, for the functions that decide what a caller may use. */
export function toScopes({ cap, scp }: Authority): string[] {
  const calls = cap.map((glob) => {
    const [agent = '', capability] = glob.split('/');
    return capability === '*' ? `agent:${agent}` : `capability:${glob}`;
  });
  return [...calls, ...scp];
}

export function intersect(a: Authority, b: Authority): Authority {
  return { cap: overlap(a.cap, b.cap), scp: overlap(a.scp, b.scp) };
}

/** What an agent of this tier may be given: others than trusted ones only agents that are named. */
export function forTier({ cap, scp }: Authority, tier: TrustTier): Authority {
  if (TRUSTED.has(tier)) return { cap, scp };
  return { cap: cap.filter((glob) => !/[*?]/.test(glob.split('/', 1)[0] ?? '')), scp: [] };
}

/** Those of `narrow` that no glob of `wide` covers. */
export function notCovered(narrow: readonly string[], wide: readonly string[]): string[] {
  return narrow.filter((glob) => !wide.some((other) => covers(other, glob)));
}

/**
 * Whether everything that matches `narrow` also matches `wide`, in any spelling of capabilities; false
 * when that is not certain.
 */
export function covers(wider: string, narrower: string): boolean {
  return matchesGlob(normalName(wider), normalName(narrower), 'glob');
}

function overlap(a: readonly string[], b: readonly string[]): string[] {
  const common: string[] = [];
  for (const one of a) {
    for (const other of b) {
      if (covers(other, one)) common.push(one);
      else if (covers(one, other)) common.push(other);
    }
  }
  return widest(common);
}

/** Without those that another one covers. */
function widest(globs: readonly string[]): string[] {
  const unique = [...new Map(globs.map((glob) => [normalName(glob), glob])).values()];
  return unique.filter((glob) => !unique.some((other) => other !== glob && covers(other, glob)));
}
