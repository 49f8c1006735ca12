import type { AgentEvent } from '@starloom/runtime';
import { toPlainText } from './agent-text.ts';

/** A tool call of a turn that did not run. */
export interface Refusal {
  readonly tool: string;
  readonly args: unknown;
  readonly rule: string;
  readonly reasons: readonly string[];
  readonly fix: string;
}

/** Collects what was refused in one turn. */
export class Refusals {
  readonly refused: Refusal[] = [];

  /** The refusal that the event reports, if any. */
  note(event: AgentEvent): Refusal | undefined {
    if (event.type !== 'SAFETY:DENIED') return undefined;
    const { call, rule, reasons, fix } = event.data;
    const refusal = { tool: call.name, args: call.args, rule, reasons, fix };
    this.refused.push(refusal);
    return refusal;
  }
}

export function describeRefusal({ tool, reasons, fix }: Refusal): string {
  return toPlainText(`refused: ${tool}: ${reasons.join('; ')}\n  fix: ${fix}`);
}
