import type { ContentSegment, ProviderEvent, ProviderResponse } from './interfaces.ts';

/** The response that a stream of events amounts to: neighbouring words are one segment. */
export function foldEvents(events: Iterable<ProviderEvent>): ProviderResponse {
  const segments: ContentSegment[] = [];
  let metadata: ProviderResponse['metadata'];
  for (const event of events) {
    if (event.type === 'segment') segments.push({ ...event.segment });
    else if (event.type === 'finish') metadata = { ...metadata, ...event.metadata };
    else append(segments, event);
  }
  return metadata ? { segments, metadata } : { segments };
}

function append(
  segments: ContentSegment[],
  event: Extract<ProviderEvent, { type: 'text' | 'reasoning' }>,
): void {
  const last = segments.at(-1);
  const metadata = 'providerMetadata' in event ? event.providerMetadata : undefined;
  if (last?.type === event.type && !last.providerMetadata) {
    last.text = (last.text ?? '') + event.text;
    if (metadata) last.providerMetadata = metadata;
    return;
  }
  segments.push({
    type: event.type,
    text: event.text,
    ...(metadata && { providerMetadata: metadata }),
  });
}
