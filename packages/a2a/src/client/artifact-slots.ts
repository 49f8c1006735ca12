// The artifacts of one task as they grow. An artifact of A2A may hold several parts; each run of
// text is one artifact of ours, and so is each file. Updates, snapshots after a lost stream and polls
// all end here, so that nothing is passed on twice.

import type { Artifact, Part } from '@a2a-js/sdk';
import { type ArtifactData, type EventBody, sha256Hex } from '@starloom/core';

type Kind = 'text' | 'raw' | 'url' | 'data';

interface Slot {
  readonly kind: Kind;
  readonly name: string;
  readonly mediaType: string;
  /** Text, base64 or a URL. */
  content: string;
  /** The value of a data part. */
  readonly value?: unknown;
}

const DEFAULT_TYPES = {
  text: 'text/plain',
  raw: 'application/octet-stream',
  url: 'application/octet-stream',
  data: 'application/json',
} as const;

const MAX_ID = 200;

export class ArtifactSlots {
  readonly #artifacts = new Map<string, Slot[]>();

  has({ artifactId }: Artifact): boolean {
    return this.#artifacts.has(toId(artifactId));
  }

  /** One update of a stream. */
  *update(artifact: Artifact, append: boolean, isLast: boolean): Generator<EventBody> {
    const id = toId(artifact.artifactId);
    const known = this.#artifacts.get(id);
    if (!append || !known) return yield* this.replace(artifact, isLast);
    for (const [index, part] of artifact.parts.entries()) {
      const last = isLast && index === artifact.parts.length - 1;
      const next = toSlot(part, artifact);
      const end = known.at(-1);
      if (end && continues(end, next, index === 0)) {
        end.content += next.content;
        yield* eventsOf(slotId(id, known.length - 1), end, next.content, { append: true, last });
      } else {
        known.push(next);
        yield* eventsOf(slotId(id, known.length - 1), next, next.content, { append: false, last });
      }
    }
  }

  /** The artifact as it is now; what was passed on already is not passed on again. */
  *replace(artifact: Artifact, isLast = false): Generator<EventBody> {
    const id = toId(artifact.artifactId);
    const before = this.#artifacts.get(id) ?? [];
    const slots: Slot[] = [];
    for (const part of artifact.parts) {
      const next = toSlot(part, artifact);
      const end = slots.at(-1);
      if (end && continues(end, next, false)) end.content += next.content;
      else slots.push(next);
    }
    this.#artifacts.set(id, slots);
    for (const [index, slot] of slots.entries()) {
      const last = isLast && index === slots.length - 1;
      yield* difference(slotId(id, index), before[index], slot, last);
    }
  }

  /** The text of artifacts that are no files: what such an agent answers with. */
  text(): string {
    const texts = Array.from(this.#artifacts.values(), (slots) => {
      return slots.flatMap((slot) => (isProse(slot) ? slot.content : [])).join('');
    });
    return texts.filter((text) => text !== '').join('\n');
  }

  /** The values of data parts. */
  data(): unknown[] {
    return [...this.#artifacts.values()].flatMap((slots) =>
      slots.flatMap((slot) => (slot.kind === 'data' ? [slot.value] : [])),
    );
  }
}

/** The files of a message, as artifacts; its text and data are for others. */
export function* filesOf(parts: readonly Part[], messageId: string): Generator<EventBody> {
  for (const [index, part] of parts.entries()) {
    const slot = toSlot(part, { name: '' });
    const isFile = slot.kind === 'raw' || slot.kind === 'url' || part.filename !== '';
    if (isFile) yield artifactEvent(slotId(toId(messageId), index), slot, slot.content, {});
  }
}

function* difference(id: string, before: Slot | undefined, slot: Slot, last: boolean) {
  if (before?.kind === slot.kind && slot.content.startsWith(before.content)) {
    const added = slot.content.slice(before.content.length);
    if (added !== '' || last) yield* eventsOf(id, slot, added, { append: true, last });
    return;
  }
  if (before && isProse(before)) yield discard();
  yield* eventsOf(id, slot, slot.content, { append: false, last });
}

function discard(): EventBody {
  return { type: 'status', data: { state: 'discard', message: 'the agent rewrote its answer' } };
}

interface Place {
  readonly append?: boolean;
  readonly last?: boolean;
}

/** Prose is what a reader follows as it comes, so it is passed on as tokens too. */
function* eventsOf(id: string, slot: Slot, added: string, place: Place): Generator<EventBody> {
  yield artifactEvent(id, slot, added, place);
  if (isProse(slot) && added !== '') yield { type: 'token', data: { text: added } };
}

function artifactEvent(id: string, slot: Slot, added: string, place: Place): EventBody {
  const data: ArtifactData = {
    id,
    ...(slot.name !== '' && { name: slot.name }),
    media_type: slot.mediaType,
    ...(slot.kind === 'raw' && { data: added }),
    ...(slot.kind === 'url' && { uri: slot.content }),
    ...((slot.kind === 'text' || slot.kind === 'data') && { text: added }),
    ...(place.append && { append: true }),
    ...(place.last && { last: true }),
  };
  return { type: 'artifact', data };
}

function toSlot({ content, filename, mediaType }: Part, { name }: { name: string }): Slot {
  const kind = content?.$case ?? 'text';
  const about = {
    kind,
    name: filename !== '' ? filename : name,
    mediaType: mediaType !== '' ? mediaType : DEFAULT_TYPES[kind],
  };
  switch (content?.$case) {
    case 'raw':
      return { ...about, content: content.value.toString('base64') };
    case 'data':
      return { ...about, content: JSON.stringify(content.value) ?? '', value: content.value };
    default:
      return { ...about, content: content?.value ?? '' };
  }
}

/** Text goes on in the next part; bytes only where an update says that it appends. */
function continues(end: Slot, next: Slot, isAppended: boolean): boolean {
  if (end.kind !== next.kind || end.mediaType !== next.mediaType) return false;
  if (next.kind === 'raw') return isAppended && end.name === next.name && isWhole(end.content);
  return next.kind === 'text' && end.name === next.name;
}

/** Base64 can be joined as text only where no padding would stand in the middle. */
function isWhole(base64: string): boolean {
  return !base64.endsWith('=');
}

function isProse({ kind, name, mediaType }: Slot): boolean {
  const isText = kind === 'text' && /^text\/(plain|markdown)\b/.test(mediaType);
  return isText && !/\.[a-z0-9]{1,8}$/i.test(name);
}

function toId(text: string): string {
  if (text === '') return 'artifact';
  return text.length <= MAX_ID ? text : sha256Hex(text);
}

function slotId(id: string, index: number): string {
  return index === 0 ? id : `${id}-${index + 1}`;
}
