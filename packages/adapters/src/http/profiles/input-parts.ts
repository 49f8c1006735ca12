import type { Attachment, Envelope } from '@starloom/core';
import { splitTask } from '../../upstream/prompt-text.ts';

export interface InputParts {
  /** Task, then what else the caller gave, as JSON. */
  readonly text: string;
  readonly files: readonly Attachment[];
}

/** What the caller gave, for an agent that reads one message; files that are texts join the text. */
export function toInputParts(input: Envelope['input']): InputParts {
  const { text, rest } = splitTask(input);
  const more = Object.keys(rest).length === 0 ? [] : [JSON.stringify(rest)];
  const isText = (file: Attachment) => file.text !== undefined;
  const texts = input.attachments.filter(isText).map(({ name, text: content = '' }) => {
    return name === undefined ? content : `${name}:\n${content}`;
  });
  return {
    text: [text, ...more, ...texts].filter((each) => each !== '').join('\n\n'),
    files: input.attachments.filter((file) => !isText(file)),
  };
}

/** Bytes as a `data:` URL, or where the file is. */
export function toFileUrl({ media_type, data, uri }: Attachment): string | undefined {
  return data === undefined ? uri : `data:${media_type};base64,${data}`;
}

export function isImage({ media_type }: Attachment): boolean {
  return media_type.toLowerCase().startsWith('image/');
}
