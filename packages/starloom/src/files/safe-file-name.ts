import { toPlainText } from '../plain-text.ts';

/** Names that mean devices on Windows, with any ending. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const MAX_BYTES = 150;

/** A name that stays in its folder and is a plain file everywhere. */
export function safeFileName(name: string): string {
  const plain = toPlainText(
    name
      .toWellFormed()
      .normalize('NFC')
      .replace(/[\r\n\t]+/g, ' '),
  )
    .replace(/[\\/:*?"<>|]+/g, '_')
    .replace(/^[. ]+|[. ]+$/g, '');
  const kept = shorten(plain);
  if (kept === '') return 'artifact';
  return DEVICES.test(kept) ? `_${kept}` : kept;
}

/** `report.md` as `report-2.md`. */
export function numbered(name: string, number: number): string {
  const { stem, ending } = split(name);
  return `${stem}-${number}${ending}`;
}

/** At the end of the stem, so that the ending stays. */
function shorten(name: string): string {
  const { stem, ending } = split(name);
  let kept = stem;
  while (Buffer.byteLength(kept + ending) > MAX_BYTES && kept !== '') {
    kept = [...kept].slice(0, -1).join('');
  }
  return kept + ending;
}

function split(name: string): { stem: string; ending: string } {
  const ending = /(?<=.)\.[^.]{1,16}$/.exec(name)?.[0] ?? '';
  return { stem: name.slice(0, name.length - ending.length), ending };
}
