// `shared-rules.json`: rules that all gateways of a realm have beside those of their own files. They are one
// document, which `starloom policy share` replaces as a whole: of two the one with the higher revision counts.
// A gateway that never learned what the realm says, or cannot read it, denies every call.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { FabricError, type Json, type Log } from '@starloom/core';
import {
  type AuditEntry,
  changeState,
  followFile,
  LiveFile,
  type Realm,
  readState,
  type SharedFile,
  type StateFileOptions,
  type StoreFollower,
  shareFile,
} from '@starloom/identity';
import { Policy } from '@starloom/identity/policy';
import { z } from 'zod';
import { policySchema } from './config-sections.ts';
import { failure } from './reasons.ts';

/** What `starloom policy share` takes; `untrusted` stays each gateway's own. */
export const sharedPolicySchema = policySchema.omit({ untrusted: true });
export type SharedPolicy = z.output<typeof sharedPolicySchema>;

/** Gateways of another version may write more, and rules that this one cannot read: they are kept as they are. */
const sharedSchema = z.looseObject({
  revision: z.int().min(1),
  changed_at: z.iso.datetime(),
  changed_by: z.string(),
  policy: z.json(),
});
const fileSchema = z.strictObject({
  version: z.literal(1),
  /** `null`: the realm has none. Absent until the store answered once. */
  shared: sharedSchema.nullable().optional(),
});

type Shared = z.output<typeof sharedSchema>;
type RulesFile = z.output<typeof fileSchema>;

/** Of their names in decisions, the audit log and errors. */
export const REALM_PREFIX = 'realm:';
const NO_POLICY: SharedPolicy = { rules: [], default: 'allow' };
const ENTRY = 'rules';
const UNKNOWN = [
  'the rules of the realm are not known here yet',
  'let it reach the store',
] as const;
const UNREADABLE = ['this gateway cannot read the rules of the realm', 'update it'] as const;

function rulesFile(stateFolder: string): StateFileOptions<RulesFile> {
  return {
    path: join(stateFolder, 'shared-rules.json'),
    schema: fileSchema,
    empty: { version: 1 },
    fix: 'restore it from a backup; or remove it: they are read again from the store of the realm',
  };
}

function sharedRules(change: SharedFile<RulesFile>['change']): SharedFile<RulesFile> {
  return {
    name: 'policy',
    what: 'rules',
    change,
    merge: (file, entries) => {
      const { data: theirs } = sharedSchema.safeParse(entries.get(ENTRY));
      const own = file.shared ?? null;
      const shared = theirs && (!own || isNewer(theirs, own)) ? theirs : own;
      return shared === file.shared ? file : { ...file, shared };
    },
    toEntries: ({ shared }) => new Map(shared ? [[ENTRY, shared as Json]] : []),
  };
}

function isNewer(one: Shared, other: Shared): boolean {
  const rankOf = ({ changed_at, policy }: Shared) => `${changed_at} ${JSON.stringify(policy)}`;
  if (one.revision !== other.revision) return one.revision > other.revision;
  return rankOf(one) > rankOf(other);
}

/** The rules as the state folder knows them; `undefined` where there are none, or this version cannot read them. */
export async function readSharedRules(stateFolder: string): Promise<SharedPolicy | undefined> {
  const { shared } = await readState(rulesFile(stateFolder));
  return shared ? sharedPolicySchema.safeParse(shared.policy).data : undefined;
}

export function toRealmPolicy(
  policy: SharedPolicy,
  onFailure?: (rule: string, error: unknown) => void,
): Policy {
  return new Policy(policy, { prefix: REALM_PREFIX, onFailure });
}

interface NewRules {
  /** Without one the realm has no rules any more. */
  readonly policy?: SharedPolicy | undefined;
  readonly by: string;
  readonly now: number;
}

/**
 * Replaces the rules of the realm; what it had before. Fails where the store is away; when it goes away in
 * the middle, the gateway of this folder passes them on later.
 */
export async function replaceSharedRules(
  stateFolder: string,
  realm: Realm,
  { policy = NO_POLICY, by, now }: NewRules,
): Promise<SharedPolicy> {
  const file = rulesFile(stateFolder);
  const share = () =>
    shareFile(
      realm,
      sharedRules((edit) => changeState(file, edit)),
    );
  await share();
  const before = (await readSharedRules(stateFolder)) ?? NO_POLICY;
  const changed_at = new Date(now).toISOString();
  const plain = z.json().parse(JSON.parse(JSON.stringify(policy)));
  const { shared: mine } = await changeState(file, (known) => {
    const revision = (known.shared?.revision ?? 0) + 1;
    return { ...known, shared: { revision, changed_at, changed_by: by, policy: plain } };
  });
  const theirs = sharedSchema.safeParse((await share()).get(ENTRY)).data;
  if (!mine || !theirs || isNewer(theirs, mine)) throw failure('rules_changed');
  return before;
}

interface SharedRulesOptions {
  readonly stateFolder: string;
  /** Absent where the gateway reaches no store: what the file says holds then. */
  readonly realm?: Realm | undefined;
  readonly audit?: ((entry: AuditEntry) => void) | undefined;
  readonly log: Log;
}

/** The rules of the realm at a gateway that runs, which follows within two seconds. */
export class SharedRules {
  readonly #options: SharedRulesOptions;
  readonly #listeners = new Set<() => void>();
  #file: LiveFile<RulesFile> | undefined;
  #sharing: StoreFollower | undefined;
  #applied: string | undefined;
  #policy: Policy | undefined;
  #problem: string | undefined;

  private constructor(options: SharedRulesOptions) {
    this.#options = options;
  }

  /** BAD_INPUT when the file cannot be used. */
  static async open(options: SharedRulesOptions): Promise<SharedRules> {
    const rules = new SharedRules(options);
    const { stateFolder, realm, log } = options;
    const onChange = (value: RulesFile) => rules.#apply(value);
    const file = await LiveFile.open({ ...rulesFile(stateFolder), log, onChange });
    rules.#file = file;
    const shared = sharedRules((edit) => file.change(edit));
    if (realm) rules.#sharing = await followFile(realm, shared, log);
    rules.#apply(file.value);
    return rules;
  }

  /** As it is now; `undefined` when the realm has no rules. */
  get policy(): Policy | undefined {
    return this.#policy;
  }

  /** Why every call is denied. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Called after the rules changed; returns how to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.#sharing?.close();
    await this.#file?.close();
  }

  #apply({ shared }: RulesFile): void {
    const { realm, log } = this.#options;
    const text = JSON.stringify(shared) ?? '';
    if (text === this.#applied) return;
    this.#applied = text;
    const isUnknown = shared === undefined && realm !== undefined;
    const none = isUnknown ? undefined : NO_POLICY;
    const policy = shared ? sharedPolicySchema.safeParse(shared.policy).data : none;
    const [problem, fix] = isUnknown ? UNKNOWN : UNREADABLE;
    this.#problem = policy ? undefined : problem;
    if (!policy) log.error({ fix }, `${problem}: every call is denied`);
    const onFailure = (rule: string, error: unknown) =>
      log.warn({ rule, error: FabricError.from(error) }, 'a policy rule failed, which denies');
    const applied = policy ?? denyAll(problem);
    this.#policy = isNone(applied) ? undefined : toRealmPolicy(applied, onFailure);
    if (shared) this.#record(shared, policy);
    void this.#sharing?.hint();
    for (const listener of [...this.#listeners]) listener();
  }

  #record({ revision, changed_by: by, policy: raw }: Shared, policy: SharedPolicy | undefined) {
    const decision = policy ? (isNone(policy) ? 'cleared' : 'applied') : 'unreadable';
    const rules = policy?.rules.map(({ name }) => name) ?? [];
    const hash = createHash('sha256').update(JSON.stringify(raw)).digest('hex');
    this.#options.audit?.({ type: 'policy', decision, revision, rules, hash, by });
    this.#options.log.info({ decision, revision, rules: rules.length, by }, 'rules of the realm');
  }
}

function isNone({ rules, default: otherwise }: SharedPolicy): boolean {
  return rules.length === 0 && otherwise === 'allow';
}

/** A rule about the call: callers see what there is, and why they are refused. */
function denyAll(reason: string): SharedPolicy {
  const rule = { name: 'not-known', when: 'depth >= 1', effect: 'deny', reason } as const;
  return { ...NO_POLICY, rules: [rule] };
}
