import { type Fields, isObject } from '@starloom/core';
import type { ContentSegment, ProviderEvent } from '@starloom/sdk';
import { textOf } from '../json.ts';
import { fromUrl } from '../media.ts';

/**
 * The words, pictures and sounds of a message or a delta, in order: `content` as a string or as
 * parts, then what some services put beside it (`refusal`, `images`, `audio`).
 */
export function readContent({
  content,
  refusal,
  images,
  audio,
}: Readonly<Fields>): ProviderEvent[] {
  return [
    ...(Array.isArray(content) ? content.flatMap(readPart) : readText(content)),
    ...readText(refusal),
    ...(Array.isArray(images) ? images.flatMap(readPart) : []),
    ...readAudio(audio),
  ];
}

function readText(text: unknown): ProviderEvent[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : [];
}

function readPart(part: unknown): ProviderEvent[] {
  if (!isObject(part)) return readText(part);
  switch (part.type) {
    case 'image_url':
      return readUrl('image', part.image_url);
    case 'video_url':
      return readUrl('video', part.video_url);
    case 'audio_url':
      return readUrl('audio', part.audio_url);
    case 'input_audio':
    case 'audio':
      return readAudio(part.input_audio ?? part.audio);
    default:
      return readText(part.text);
  }
}

function readUrl(type: 'image' | 'audio' | 'video', value: unknown): ProviderEvent[] {
  const url = isObject(value) ? textOf(value.url) : textOf(value);
  return url === undefined ? [] : [toEvent(fromUrl(type, url))];
}

/** A sound with its transcript, which comes first: it is what a reader without ears gets. */
function readAudio(audio: unknown): ProviderEvent[] {
  if (!isObject(audio)) return [];
  const data = textOf(audio.data) ?? '';
  const mimeType = `audio/${textOf(audio.format) ?? 'wav'}`;
  const sound: ContentSegment = { type: 'audio', data, mimeType };
  return [...readText(audio.transcript), ...(data === '' ? [] : [toEvent(sound)])];
}

function toEvent(segment: ContentSegment): ProviderEvent {
  return { type: 'segment', segment };
}
