import type { FabricEvent } from '../api-types.ts';
import { duration, toMs } from '../state/format.ts';
import { oneLine } from './plain-text.ts';

/** Events in order; tokens that follow each other are one line. */
export function EventList({ events, start }: { events: readonly FabricEvent[]; start: string }) {
  return (
    <ol class="events" aria-label="Events" tabIndex={0}>
      {folded(events).map((event) => (
        <li key={`${event.agent_id} ${event.seq} ${event.type}`}>
          <span class="muted">+{duration(Math.max(0, toMs(event.at) - toMs(start)))}</span>
          <span>{event.type.replace('_', ' ')}</span>
          <bdi>{oneLine(wordsOf(event), 600)}</bdi>
        </li>
      ))}
    </ol>
  );
}

export function textOf(event: FabricEvent): string {
  return event.type === 'token' ? String(event.data?.text ?? '') : '';
}

export function folded(events: readonly FabricEvent[]): FabricEvent[] {
  const result: FabricEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (event.type === 'token' && last?.type === 'token' && last.agent_id === event.agent_id) {
      result[result.length - 1] = { ...last, data: { text: textOf(last) + textOf(event) } };
    } else result.push(event);
  }
  return result;
}

function wordsOf({ type, data = {}, error, agent_id }: FabricEvent): string {
  if (error !== undefined) return `${error.code}: ${error.message}`;
  const text = (name: string) => (data[name] === undefined ? '' : String(data[name]));
  switch (type) {
    case 'token':
      return text('text');
    case 'final':
      return text('answer');
    case 'status':
      return [agent_id, text('state'), text('message')].filter(Boolean).join(' · ');
    case 'progress':
      return [data.percent === undefined ? '' : `${text('percent')} %`, text('message')]
        .filter(Boolean)
        .join(' · ');
    case 'tool_call':
      return `${text('name')} ${text('phase')} ${JSON.stringify(data.phase === 'end' ? data.result : data.args) ?? ''}`;
    case 'artifact':
      return [text('name') || text('id'), text('media_type'), text('text') || text('uri')].join(
        ' · ',
      );
    default:
      return JSON.stringify(data);
  }
}
