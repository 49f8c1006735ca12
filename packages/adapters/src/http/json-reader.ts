import type { AnswerLimits } from './answer-reader.ts';
import { TextReader } from './text-reader.ts';
import { parseJson } from './translate.ts';

/** An answer that is one JSON document. */
export class JsonReader extends TextReader {
  constructor(
    contentLength: string | undefined,
    limits: AnswerLimits,
    onValue: (value: unknown, bytes: number) => void,
  ) {
    super(contentLength, limits, (text, bytes) => onValue(parseJson(text), bytes));
  }
}
