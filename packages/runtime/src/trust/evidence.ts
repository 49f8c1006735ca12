// What is known of one call before it is judged: how risky it is, whose words led to it, what of its
// arguments came from them, and whom it would reach. Nothing here decides.

import type { Block, ITool, ToolRisk } from '@starloom/sdk';
import type { ToolRequest } from '../core/seams.ts';
import { ArgumentText, type Destination } from './argument-text.ts';
import { textOf } from './block-text.ts';
import { mentions, mentionsHost } from './mentions.ts';
import { isKnownHost, type TrustPolicy } from './policy.ts';
import { type ScannedText, scanBlock } from './scanned-block.ts';
import { isExit, riskOf } from './tool-risk.ts';
import { isForeign, sourceOf } from './tool-source.ts';

const LEAST_COPY = 8;
const MOST_COPY = 2000;
const MOST_COPIES = 16;
const PATH = /(?:^|[\s"'=])((?:~|\.{0,2})?\/[\w.@~/-]{5,}|[\w.@-]+(?:\/[\w.@-]+)+)/g;
const URL_LIKE = /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'`<>]+/gi;

export interface EvidenceOptions {
  readonly request: ToolRequest;
  readonly tool: ITool;
  readonly policy: TrustPolicy;
  /** What a person types is somebody else's word in this agent. */
  readonly userIsUntrusted: boolean;
  /** Descriptions of tools that the model has seen and nobody has vetted. */
  readonly descriptions: readonly ScannedText[];
  /** Its own description is not the one first seen. */
  readonly changed: boolean;
}

export class Evidence {
  readonly request: ToolRequest;
  readonly tool: ITool;
  readonly policy: TrustPolicy;
  readonly args: ArgumentText;
  readonly risk: ToolRisk;
  readonly exit: boolean;
  readonly changed: boolean;
  /** Foreign words that may have led to the call. */
  readonly sources: readonly ScannedText[];
  readonly tainted: boolean;
  /** Who tainted it, each once. */
  readonly taintedBy: readonly string[];
  readonly #known: readonly string[];
  #lowered: readonly string[] | undefined;
  #copies: readonly string[] | undefined;

  constructor(options: EvidenceOptions) {
    const { request, tool, policy, userIsUntrusted, descriptions } = options;
    this.request = request;
    this.changed = options.changed;
    this.tool = tool;
    this.policy = policy;
    this.args = new ArgumentText(request.call.args);
    this.risk = riskOf(tool, this.args.strings);
    this.exit = isExit(tool);
    const byUser = request.origin === 'user';
    this.sources = byUser ? [] : [...foreignTexts(request.blocks), ...descriptions];
    const caller = request.origin === 'remote' ? ['a remote caller'] : [];
    const user = byUser && userIsUntrusted ? ['the user, who is not trusted here'] : [];
    this.taintedBy = unique([...caller, ...user, ...this.sources.map(({ source }) => source)]);
    this.tainted = this.taintedBy.length > 0;
    this.#known = request.blocks.filter(({ type }) => type === 'instruction').map(textOf);
  }

  /** The operator or the user wrote it. */
  isKnown(text: string): boolean {
    return this.#known.some((known) => known.includes(text));
  }

  /** Whom the arguments name that neither the operator nor the user has named. */
  get strangers(): readonly Destination[] {
    return this.args.destinations.filter((destination) => !this.#isNamed(destination));
  }

  /** Everybody it would reach was named; a server without addresses is named by its name. */
  get reachesOnlyKnown(): boolean {
    if (this.args.destinations.length > 0) return this.strangers.length === 0;
    return isForeign(this.tool) && this.#mentions(sourceOf(this.tool).replace(/^\w+:/, ''));
  }

  /** Paths, addresses and whole strings of the arguments that stand in foreign words alone. */
  get copies(): readonly string[] {
    this.#copies ??= candidatesIn(this.args.strings).filter(
      (text) => !this.isKnown(text) && this.sources.some((source) => source.text.includes(text)),
    );
    return this.#copies;
  }

  /** The text is where the call came from: an argument stands in it, or the tool is named there. */
  isLinkedTo(source: ScannedText): boolean {
    return (
      this.copies.some((copy) => source.text.includes(copy)) ||
      toolNames(this.tool.name).some((name) => source.text.includes(name))
    );
  }

  #isNamed({ kind, name }: Destination): boolean {
    if (kind === 'host') {
      return isKnownHost(this.policy, name) || this.#lower.some((text) => mentionsHost(text, name));
    }
    return isKnownHost(this.policy, name.slice(name.indexOf('@') + 1)) || this.#mentions(name);
  }

  #mentions(name: string): boolean {
    return this.#lower.some((text) => mentions(text, name.toLowerCase()));
  }

  get #lower(): readonly string[] {
    this.#lowered ??= this.#known.map((text) => text.toLowerCase());
    return this.#lowered;
  }
}

/**
 * Untrusted blocks that others wrote. What the model made of them only counts when they themselves
 * are no longer there, as after a compaction.
 */
function foreignTexts(blocks: readonly Block[]): ScannedText[] {
  const untrusted = blocks.filter(({ trust }) => trust === 'untrusted');
  const present = new Set(untrusted.map(({ id }) => id));
  return untrusted
    .filter(
      ({ role, taintedBy = [] }) =>
        role !== 'assistant' || !taintedBy.some((id) => present.has(id)),
    )
    .map(scanBlock);
}

function candidatesIn(strings: readonly string[]): string[] {
  const found = new Set<string>();
  for (const text of strings) {
    const whole = text.trim();
    if (whole.length >= LEAST_COPY && whole.length <= MOST_COPY) found.add(whole);
    for (const [url] of text.matchAll(URL_LIKE)) found.add(url);
    for (const [, path] of text.matchAll(PATH))
      if (path && path.length >= LEAST_COPY) found.add(path);
    if (found.size >= MOST_COPIES) break;
  }
  return [...found].slice(0, MOST_COPIES);
}

/** `write_file` also finds `fs:write_file` and its other spellings; `get` alone would find anything. */
function toolNames(name: string): string[] {
  const own = name.slice(name.indexOf(':') + 1);
  if (/[_-]|[a-z][A-Z]/.test(own)) return [own];
  return [name, name.replace(':', '.'), name.replace(':', '_')];
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
