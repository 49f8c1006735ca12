// The language of rules: CEL, checked against the types of what is known of a call, and cut down to what
// takes linear time. There are no regular expressions, no loop inside a loop and no dynamic types, so
// that a rule that is accepted costs microseconds and cannot fail by its types.

import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { isTrustedAs, matchesGlob, normalName, TRUST_TIERS, type TrustTier } from '@starloom/core';
import { type CallFacts, NEEDS, type Needs, SAMPLE_FACTS, TYPES, VARIABLES } from './facts.ts';

export interface Expression {
  readonly needs: Needs;
  /** Whether the rule matches; throws what goes wrong. */
  readonly matches: (facts: CallFacts) => boolean;
}

export interface ExpressionProblem {
  readonly message: string;
  readonly fix: string;
}

const LOOPS: ReadonlySet<string> = new Set(['exists', 'all', 'exists_one']);
const TIMES: ReadonlySet<string> = new Set([
  'timestamp',
  'duration',
  'getFullYear',
  'getMonth',
  'getDate',
  'getDayOfMonth',
  'getDayOfWeek',
  'getDayOfYear',
  'getHours',
  'getMinutes',
]);
/** Others of CEL take more than linear time, or have no use in a rule. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  'startsWith',
  'endsWith',
  'contains',
  'glob',
  'isAtLeast',
  'size',
  ...LOOPS,
  ...TIMES,
]);
const MAX_LENGTH = 4_096;

const environment = new Environment({
  limits: { maxAstNodes: 500, maxDepth: 50, maxListElements: 200, maxCallArguments: 8 },
})
  .registerFunction('string.glob(string): bool', (text: string, glob: string) =>
    matchesGlob(glob, text),
  )
  .registerFunction('string.isAtLeast(string): bool', isAtLeast);
for (const [name, type] of Object.entries(TYPES)) environment.registerType(name, type);
for (const [name, { type }] of Object.entries(VARIABLES)) environment.registerVariable(name, type);

/** The expression, ready to run; or what is wrong with it. */
export function compileExpression(text: string): Expression | ExpressionProblem {
  if (text.length > MAX_LENGTH) {
    return { message: 'the expression is too long', fix: `write at most ${MAX_LENGTH} characters` };
  }
  const checked = environment.check(text);
  if (!checked.valid) return toProblem(checked.error);
  if (checked.type !== 'bool') {
    const message = `the expression is a ${checked.type}, not true or false`;
    return { message, fix: 'compare it with something, as in capability == "read"' };
  }
  const { ast } = environment.parse(text);
  const found = new Findings(text);
  found.visit(ast, false);
  if (found.problem) return found.problem;
  const parsed = environment.parse(withNormalNames(text, ast));
  const matches = (facts: CallFacts) =>
    parsed({ ...facts, capability: normalName(facts.capability) }) === true;
  return { needs: found.needs, matches };
}

/** The expression with names of capabilities as `normalName` writes them. */
function withNormalNames(text: string, ast: ASTNode): string {
  return namesIn(ast, false)
    .toSorted((a, b) => b.start - a.start)
    .reduce((rest, { args, start, end }) => {
      const name = JSON.stringify(normalName(String(args)));
      return `${rest.slice(0, start)}${name}${rest.slice(end)}`;
    }, text);
}

/** Operators that compare nothing themselves. */
const JOINING: ReadonlySet<string> = new Set(['&&', '||', '!_', '?:', '+']);

/** The texts that a condition compares with `capability`, also by way of a loop over them. */
function namesIn(node: ASTNode, isCompared: boolean): ASTNode[] {
  if (node.op === 'value') return isCompared && typeof node.args === 'string' ? [node] : [];
  const facts = factsIn(node);
  const isOfOther = [...facts].some((fact) => fact !== 'capability');
  const isHere = JOINING.has(node.op)
    ? isCompared
    : facts.has('capability') || (isCompared && !isOfOther);
  return nodesIn(node.args).flatMap((inner) => namesIn(inner, isHere));
}

function factsIn(node: ASTNode): Set<string> {
  if (node.op === 'id') return new Set(Object.hasOwn(VARIABLES, node.args) ? [node.args] : []);
  return new Set(nodesIn(node.args).flatMap((inner) => [...factsIn(inner)]));
}

/** Whether a tier is trusted as far as another; a rule that names no tier fails. */
function isAtLeast(tier: string, least: string): boolean {
  if (!isTier(tier) || !isTier(least)) throw new RangeError(`"${least}" is no tier`);
  return isTrustedAs(tier, least);
}

function isTier(text: string): text is TrustTier {
  return (TRUST_TIERS as readonly string[]).includes(text);
}

/** What has to be known of an expression beside its types. */
class Findings {
  needs: Needs = 'agent';
  problem: ExpressionProblem | undefined;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  visit(node: ASTNode, isInLoop: boolean): void {
    if (node.op === 'id') this.#need(VARIABLES[node.args]?.needs ?? 'agent');
    const name = node.op === 'call' || node.op === 'rcall' ? node.args[0] : undefined;
    const isLoop = name !== undefined && LOOPS.has(name);
    if (name !== undefined) this.#checkCall(name, node, isLoop && isInLoop);
    for (const inner of nodesIn(node.args)) this.visit(inner, isInLoop || isLoop);
  }

  #need(needs: Needs): void {
    if (NEEDS.indexOf(needs) > NEEDS.indexOf(this.needs)) this.needs = needs;
  }

  #checkCall(name: string, { start, end }: ASTNode, isNested: boolean): void {
    if (!FUNCTIONS.has(name)) {
      const fix = `use one of ${[...FUNCTIONS].join(', ')}`;
      this.problem ??= { message: `the function "${name}" is not available in rules`, fix };
    } else if (isNested) {
      const message = `"${name}" stands inside another loop`;
      this.problem ??= { message, fix: 'write two rules, or compare with one list' };
    } else if (TIMES.has(name) || name === 'isAtLeast') this.#tryOut(this.#text.slice(start, end));
  }

  /** Names of time zones and tiers, and times, are texts: only running them shows what is wrong. */
  #tryOut(part: string): void {
    try {
      environment.parse(part)(SAMPLE_FACTS);
    } catch (error) {
      const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
      const fix = `name a time, a time zone such as "Europe/Berlin", or a tier: ${TRUST_TIERS.join(', ')}`;
      this.problem ??= { message: `${part} cannot be evaluated: ${why}`, fix };
    }
  }
}

function nodesIn(value: unknown): ASTNode[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  return typeof value === 'object' && value !== null && 'op' in value ? [value as ASTNode] : [];
}

function toProblem(error: unknown): ExpressionProblem {
  const { message = '', range } = error as { message?: string; range?: { start: number } };
  const where = range ? ` at character ${range.start + 1}` : '';
  return {
    message: `the expression is not valid: ${message.split('\n', 1)[0]}${where}`,
    fix: `use ${Object.keys(VARIABLES).join(', ')}, as docs/security.md lists them`,
  };
}
