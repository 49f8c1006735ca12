import type { Block } from '@starloom/sdk';
import { textOf } from './block-text.ts';
import { RunIndex } from './shared-runs.ts';
import { signsOf, type TextSigns } from './text-signs.ts';

/** Foreign words with what was found in them. Blocks do not change, so each is read once. */
export class ScannedText {
  readonly source: string;
  readonly text: string;
  readonly signs: TextSigns;
  #runs: RunIndex | undefined;

  constructor(source: string, text: string) {
    this.source = source;
    this.text = text;
    this.signs = signsOf(text);
  }

  get runs(): RunIndex {
    this.#runs ??= new RunIndex(this.text);
    return this.#runs;
  }
}

const scans = new WeakMap<Block, ScannedText>();

export function scanBlock(block: Block): ScannedText {
  const known = scans.get(block);
  if (known) return known;
  const scan = new ScannedText(block.source, textOf(block));
  scans.set(block, scan);
  return scan;
}
