import type { ApiError, CallResult, FabricEvent, GivenInput, Question } from '../api-types.ts';
import { GatewayError } from '../state/api.ts';
import { toHref } from '../state/router.ts';
import { EventList, textOf } from '../ui/event-list.tsx';
import { Badge, Json, Problem, TextBox } from '../ui/parts.tsx';
import { plainText } from '../ui/plain-text.ts';
import { Questions } from '../ui/questions.tsx';
import { Words } from '../ui/words.tsx';

/** What is known of a call that was made from here, while it runs and after. */
export interface Outcome {
  readonly traceId?: string;
  readonly startedAt: string;
  readonly events: readonly FabricEvent[];
  readonly result?: CallResult;
  readonly asks?: { readonly conversation_id: string; readonly inputs: readonly Question[] };
  readonly error?: ApiError;
  readonly isRunning: boolean;
  readonly wasCancelled?: boolean;
}

/** The answer as it streams, with questions of the agent in place. */
export function Answer(props: {
  outcome: Outcome;
  agentId: string;
  onAnswer: (inputs: readonly GivenInput[]) => Promise<unknown>;
}) {
  const { outcome } = props;
  const { result } = outcome;
  const streamed = streamedText(outcome.events);
  const text = result?.result?.answer ?? streamed;
  const progress = outcome.events.findLast(({ type }) => type === 'progress')?.data;
  return (
    <>
      <p class="chips" role="status">
        {outcome.isRunning && <Badge tone="info">running</Badge>}
        {outcome.wasCancelled && <Badge tone="quiet">cancelled</Badge>}
        {result && (
          <Badge tone={result.fallback ? 'warn' : 'ok'}>
            {result.fallback ? 'fell back' : 'ok'}
          </Badge>
        )}
        {outcome.asks && <Badge tone="warn">asks</Badge>}
        {result?.agent_id && (
          <span>
            answered by <strong>{result.agent_id}</strong>
          </span>
        )}
        {outcome.traceId && <a href={toHref(['calls', outcome.traceId])}>Open the call</a>}
        {result?.job_id && <a href={toHref(['jobs', result.job_id])}>Open the job</a>}
      </p>
      {outcome.isRunning && progress !== undefined && (
        <p>
          <progress
            max={100}
            value={progress.percent === undefined ? undefined : Number(progress.percent)}
            aria-label="Progress"
          />
          <Words text={String(progress.message ?? '')} />
        </p>
      )}
      {outcome.error && <Problem error={new GatewayError(outcome.error, 0, outcome.traceId)} />}
      {outcome.asks && (
        <Questions
          key={outcome.asks.inputs.map(({ id }) => id).join()}
          from={props.agentId}
          questions={outcome.asks.inputs}
          onAnswer={props.onAnswer}
        />
      )}
      {text !== '' && (
        <TextBox
          class={`answer ${outcome.isRunning ? 'live-text' : ''}`}
          label="Answer"
          text={text}
        />
      )}
      {result?.result?.data !== undefined && (
        <Json value={result.result.data} label="Data of the answer" />
      )}
      {(result?.result?.citations ?? []).length > 0 && (
        <ul class="rows">
          {result?.result?.citations?.map((citation, index) => (
            <li key={`${citation.uri} ${index}`}>
              <Words text={citation.title ?? citation.text ?? citation.uri ?? ''} />
              <code>{plainText(citation.uri ?? '')}</code>
            </li>
          ))}
        </ul>
      )}
      {result?.fallback && result.attempts && (
        <p class="note">
          {result.attempts.map(({ agent_id, ok, error_code, code }, index) => (
            <span key={`${agent_id} ${index}`}>
              {index > 0 && ' → '}
              <strong>{agent_id}</strong> {ok ? 'answered' : String(error_code ?? code ?? 'failed')}
            </span>
          ))}
        </p>
      )}
      {outcome.events.length > 0 && (
        <details>
          <summary>{outcome.events.length} events</summary>
          <EventList events={outcome.events} start={outcome.startedAt} />
        </details>
      )}
    </>
  );
}

/** What an attempt streamed counts until it is discarded. */
export function streamedText(events: readonly FabricEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'status' && event.data?.state === 'discard') text = '';
    text += textOf(event);
  }
  return text;
}
