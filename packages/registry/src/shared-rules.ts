// What a manifest that no operator of this gateway wrote may make it do. It runs no program and reads no
// secret unless the gateway's own file says so: a person who can write to the shared store gains neither.

import { isIP } from 'node:net';
import {
  type InstanceHold,
  isTrustedAs,
  type Manifest,
  matchesGlob,
  type TrustTier,
} from '@starloom/core';
import { createAddressGuard } from '@starloom/wire';
import { referencesIn } from './endpoint-secrets.ts';
import { failure } from './reasons.ts';

export interface SharedRules {
  /** Globs of commands; one with a space in it is compared with the whole command line. */
  readonly commands: readonly string[];
  /** Globs of the names of variables and of the paths of files. */
  readonly secrets: readonly string[];
}

/** Settings of a program with which it could reach more than its command says. */
const WIDENING = ['cwd', 'root', 'files', 'user', 'writable'] as const;

/** Throws BAD_INPUT when this gateway may not serve the agent as its manifest says. */
export function assertShared(manifest: Manifest, rules: SharedRules): void {
  const { agent_id } = manifest;
  const found = findRefusal(manifest, rules);
  if (found) throw failure(found.reason, { agent_id, what: found.what });
}

/** Throws BAD_INPUT when an agent asks for more than the key that it registers with has. */
export function assertOwnRights(
  manifest: Manifest,
  { id, tier }: { readonly id: string; readonly tier: TrustTier },
): void {
  const { agent_id, trust_tier, auth = { mandate: false }, pass_meta } = manifest;
  if (!isTrustedAs(tier, trust_tier)) {
    throw failure('tier', { agent_id, own: tier, asked: trust_tier });
  }
  const given = {
    'auth.mandate': auth.mandate,
    'auth.may_call': auth.may_call !== undefined,
    'auth.principal of another key': auth.principal !== undefined && auth.principal !== id,
    pass_meta: pass_meta === true,
  };
  const [found] = Object.entries(given).find(([, isGiven]) => isGiven) ?? [];
  if (found !== undefined) throw failure('rights', { agent_id, what: found });
}

export function holdOf(manifest: Manifest, rules: SharedRules): InstanceHold | undefined {
  const found = findRefusal(manifest, rules);
  if (!found) return undefined;
  const { reason, what } = found;
  const fix =
    reason === 'command'
      ? 'add the command to registry.commands of this gateway, if you trust it'
      : 'add the name to registry.secrets of this gateway, if the agent may have it';
  return { reason: reason === 'url' ? 'unreadable' : reason, message: what, fix };
}

interface Refusal {
  readonly reason: 'command' | 'secret' | 'url';
  readonly what: string;
}

function findRefusal(manifest: Manifest, rules: SharedRules): Refusal | undefined {
  const { transport, command, uri } = manifest.endpoint;
  // Its node runs it, and knows its secrets: nothing of the endpoint is used here.
  if (transport === 'node') return undefined;
  const program = command ?? (transport === 'http' ? undefined : '');
  if (program !== undefined) return findProgramRefusal(manifest, program, rules);
  return findUrlRefusal(uri ?? '') ?? findSecretRefusal(manifest, rules);
}

function findProgramRefusal(
  manifest: Manifest,
  program: string,
  rules: SharedRules,
): Refusal | undefined {
  const { args = [], env = {}, options = {} } = manifest.endpoint;
  const line = [program, ...args].join(' ');
  const isAllowed = rules.commands.some((glob) =>
    matchesGlob(glob, glob.includes(' ') ? line : program),
  );
  if (!isAllowed) return { reason: 'command', what: 'registry.commands does not name it' };
  const wide = WIDENING.find((name) => options[name] !== undefined);
  if (wide !== undefined) return { reason: 'command', what: `it sets endpoint.options.${wide}` };
  // A variable such as NODE_OPTIONS makes another program of the one that is allowed.
  const inherited = Array.isArray(options.inherit_env) ? options.inherit_env.map(String) : [];
  const name = [...Object.keys(env), ...inherited].find((each) => !isNamed(each, rules));
  if (name !== undefined) return { reason: 'secret', what: `the variable ${name}` };
  return findSecretRefusal(manifest, rules);
}

function findSecretRefusal(manifest: Manifest, rules: SharedRules): Refusal | undefined {
  const { document } = manifest.endpoint.options ?? {};
  const isFile = typeof document === 'string' && !/^https?:\/\//i.test(document);
  const names = [...referencesIn(manifest), ...(isFile ? [document] : [])];
  const name = names.find((each) => !isNamed(each, rules));
  return name === undefined ? undefined : { reason: 'secret', what: `the reference to ${name}` };
}

function isNamed(name: string, { secrets }: SharedRules): boolean {
  return secrets.some((glob) => matchesGlob(glob, name));
}

/** Made once: a large registry checks as many addresses. */
const AGENT_ADDRESSES = createAddressGuard({ allowPrivate: true, allow: ['127.0.0.0/8', '::1'] });

/** Agents may be on this machine and in private networks; addresses of metadata services never are. */
function findUrlRefusal(uri: string): Refusal | undefined {
  const url = URL.parse(uri);
  if (!url || !/^https?:$/.test(url.protocol)) return { reason: 'url', what: 'it is not http' };
  if (url.username || url.password) return { reason: 'url', what: 'it holds a user name' };
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) return undefined;
  try {
    AGENT_ADDRESSES.check(url);
    return undefined;
  } catch {
    return { reason: 'url', what: 'the address is not one of an agent' };
  }
}
