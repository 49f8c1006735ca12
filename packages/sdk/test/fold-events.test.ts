import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ContentSegment, foldEvents, type ProviderEvent } from '../src/index.ts';

/** What a model says before it is split: no two neighbours of one kind of words. */
const words = fc.record({
  type: fc.constantFrom('text' as const, 'reasoning' as const),
  text: fc.string({ unit: 'binary', minLength: 1 }),
});
const call = fc
  .string()
  .map(
    (id): ContentSegment => ({ type: 'tool_call', toolCall: { id, name: 'fs:list', args: {} } }),
  );
const image = fc.base64String().map((data): ContentSegment => ({ type: 'image', data }));
const response = fc
  .array(fc.oneof(words, call, image))
  .map((segments) =>
    segments.filter(({ type }, index) => type !== segments[index - 1]?.type || !isWords(type)),
  );

describe('folding', () => {
  it('gives the same response however its words were split', () => {
    fc.assert(
      fc.property(response, fc.infiniteStream(fc.nat(4)), (segments, sizes) => {
        const events = segments.flatMap((segment) => split(segment, sizes));
        expect(foldEvents(events)).toEqual({ segments });
      }),
    );
  });

  it('gives nothing for nothing', () => {
    expect(foldEvents([])).toEqual({ segments: [] });
  });

  it('keeps words apart that something stood between', () => {
    const segment: ContentSegment = { type: 'image', data: 'AAAA' };
    const events: ProviderEvent[] = [
      { type: 'text', text: 'a' },
      { type: 'segment', segment },
      { type: 'text', text: 'b' },
    ];
    const { segments } = foldEvents(events);
    expect(segments.map(({ type }) => type)).toEqual(['text', 'image', 'text']);
  });

  it('ends a segment where a provider attaches something to it', () => {
    const providerMetadata = { vendor: { signature: 'abc' } };
    const events: ProviderEvent[] = [
      { type: 'reasoning', text: 'one' },
      { type: 'reasoning', text: '', providerMetadata },
      { type: 'reasoning', text: 'two' },
      { type: 'text', text: 'three' },
      { type: 'text', text: '', providerMetadata },
    ];
    expect(foldEvents(events).segments).toEqual([
      { type: 'reasoning', text: 'one', providerMetadata },
      { type: 'reasoning', text: 'two' },
      { type: 'text', text: 'three', providerMetadata },
    ]);
  });

  it('joins what is told of the whole answer, the later word over the earlier', () => {
    const events: ProviderEvent[] = [
      { type: 'finish', metadata: { model: 'a', finishReason: 'stop' } },
      { type: 'finish', metadata: { finishReason: 'length' } },
    ];
    expect(foldEvents(events).metadata).toEqual({ model: 'a', finishReason: 'length' });
  });
});

function isWords(type: string): type is 'text' | 'reasoning' {
  return type === 'text' || type === 'reasoning';
}

/** Some pieces are empty: models send those, too. */
function split(segment: ContentSegment, sizes: fc.Stream<number>): ProviderEvent[] {
  const { type, text = '' } = segment;
  if (!isWords(type)) return [{ type: 'segment', segment }];
  const events: ProviderEvent[] = [];
  for (let start = 0; start < text.length; ) {
    const size = sizes.next().value;
    events.push({ type, text: text.slice(start, start + size) });
    start += size;
  }
  return events;
}
