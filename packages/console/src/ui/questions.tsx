// Questions of agents, answered by a person. They are shown as words of the agent: links are text that
// can be copied, nothing opens by itself, and no field asks for a secret of the gateway.

import { useSignal } from '@preact/signals';
import type { GivenInput, Question } from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { bound, TextField } from './fields.tsx';
import { Button, Copy, Problem } from './parts.tsx';
import { plainText } from './plain-text.ts';
import { fieldsOf, initialOf, problemsOf } from './schema.ts';
import { SchemaForm } from './schema-form.tsx';

type Response = GivenInput['response'];

export function Questions(props: {
  from: string;
  questions: readonly Question[];
  onAnswer: (inputs: readonly GivenInput[]) => Promise<unknown>;
}) {
  const given = useSignal<Readonly<Record<string, Response>>>({});
  const { isBusy, error, run } = useAction();
  const answer = async (id: string, response: Response) => {
    given.value = { ...given.value, [id]: response };
    const all = props.questions.map((question) => ({
      id: question.id,
      response: given.value[question.id],
    }));
    if (!all.every((one): one is GivenInput => one.response !== undefined)) return;
    await run(async () => {
      try {
        await props.onAnswer(all);
      } catch (problem) {
        given.value = {};
        throw problem;
      }
    });
  };
  return (
    <div class="question-list">
      {props.questions
        .filter(({ id }) => given.value[id] === undefined)
        .map((question) => (
          <OneQuestion
            key={question.id}
            from={props.from}
            question={question}
            isBusy={isBusy}
            onAnswer={(response) => void answer(question.id, response)}
          />
        ))}
      {isBusy && <p role="status">Sending the answer…</p>}
      <Problem error={error} />
    </div>
  );
}

function OneQuestion(props: {
  from: string;
  question: Question;
  isBusy: boolean;
  onAnswer: (response: Response) => void;
}) {
  const { question } = props;
  const text = useSignal('');
  const fields = fieldsOf(question.schema);
  const value = useSignal<Record<string, unknown>>(initialOf(fields));
  const problems = useSignal<Record<string, string>>({});
  const isOurs = ['text', 'form', 'choice', 'url', 'auth'].includes(question.kind);
  const submit = (event: Event) => {
    event.preventDefault();
    if (question.kind === 'text' && fields.length === 0) {
      return props.onAnswer({ action: 'accept', content: { text: text.value } });
    }
    problems.value = problemsOf(fields, value.value);
    if (Object.keys(problems.value).length > 0) return;
    const hasContent = question.kind === 'form' || question.kind === 'text';
    props.onAnswer({ action: 'accept', ...(hasContent && { content: value.value }) });
  };
  return (
    <form class="question" onSubmit={submit} aria-label={`Question of ${props.from}`}>
      <p class="muted small">
        <bdi>{props.from}</bdi> asks:
      </p>
      <p class="said" dir="auto">
        {plainText(question.message)}
      </p>
      {question.url && (
        <p class="small">
          It names this address; open it only if you trust the agent:{' '}
          <code>{plainText(question.url)}</code> <Copy text={() => question.url ?? ''} />
        </p>
      )}
      {question.kind === 'text' && fields.length === 0 && (
        <TextField label="Answer" lines="prose" {...bound(text)} />
      )}
      {fields.length > 0 && question.kind !== 'choice' && (
        <SchemaForm fields={fields} problems={problems.value} {...bound(value)} />
      )}
      {!isOurs && <p>Only the client that made the call can answer this ({question.kind}).</p>}
      <div class="buttons">
        {question.kind === 'choice'
          ? (question.options ?? []).map(({ id, label }) => (
              <Button
                key={id}
                disabled={props.isBusy}
                onClick={() => props.onAnswer({ action: 'accept', content: { choice: id } })}
              >
                <bdi>{plainText(label)}</bdi>
              </Button>
            ))
          : isOurs && (
              <Button kind="main" type="submit" disabled={props.isBusy}>
                {question.kind === 'url' || question.kind === 'auth' ? 'Done' : 'Answer'}
              </Button>
            )}
        <Button disabled={props.isBusy} onClick={() => props.onAnswer({ action: 'decline' })}>
          Decline
        </Button>
      </div>
    </form>
  );
}
