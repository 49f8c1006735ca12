import { type EventBody, toFields } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { exceedsDepth } from '../../upstream/exceeds-depth.ts';

const MAX_SAID = 16_384;

/** What an agent reports in a form of its own; `percent`, or `progress` from 0 to 1, where it has it. */
export function toProgress(value: unknown, name?: unknown): EventBody {
  const { percent, progress, message, text } = toFields(value);
  const said = [value, message, text, name].find((each) => typeof each === 'string');
  const isJson = said === undefined && value !== undefined && !exceedsDepth(value);
  const words = cleanText(isJson ? JSON.stringify(value) : said, MAX_SAID);
  const share = typeof progress === 'number' ? progress * 100 : Number.NaN;
  const exact = typeof percent === 'number' ? percent : share;
  const isPercent = exact >= 0 && exact <= 100;
  return {
    type: 'progress',
    data: { ...(isPercent && { percent: exact }), ...(words && { message: words }) },
  };
}
