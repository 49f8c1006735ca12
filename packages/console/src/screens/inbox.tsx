import type { GivenInput, Inbox, JobView, Question } from '../api-types.ts';
import { act } from '../state/api.ts';
import { plural } from '../state/format.ts';
import { inboxCount } from '../state/live.ts';
import { useResource } from '../state/resource.ts';
import { toHref } from '../state/router.ts';
import { Card, Empty, Time } from '../ui/parts.tsx';
import { Questions } from '../ui/questions.tsx';
import { Page } from '../ui/screen.tsx';
import { notify } from '../ui/toasts.tsx';
import { Words } from '../ui/words.tsx';

/** What waits for this person: questions of agents, changed tools. */
export function InboxScreen() {
  const inbox = useResource<Inbox>('inbox', {}, ({ type }) => type === 'inbox' || type === 'job');
  return (
    <Page title="Inbox" lead="What agents wait for you to decide." from={inbox}>
      {(data) => {
        const total = data.questions.length + data.held.length;
        inboxCount.value = total;
        return (
          <>
            {total === 0 && (
              <Empty title="Nothing waits for you.">
                <p>
                  Questions of agents in jobs, and tools that changed, appear here as they happen.
                </p>
              </Empty>
            )}
            {data.questions.map((question) => (
              <Card
                key={question.job_id}
                title={
                  <Words text={`${question.agent_id ?? 'An agent'} · ${question.capability}`} />
                }
                actions={
                  <span class="muted small">
                    asked <Time at={question.asked_at} />
                    {question.expires_at && (
                      <>
                        , open until <Time at={question.expires_at} style="full" />
                      </>
                    )}
                  </span>
                }
              >
                <JobQuestions
                  job={question}
                  questions={question.inputs}
                  onDone={() => inbox.reload()}
                />
                <p>
                  <a href={toHref(['jobs', question.job_id])}>Open the job</a>
                </p>
              </Card>
            ))}
            {data.held.map(({ agent_id, tools }) => (
              <Card
                key={agent_id}
                title={`${plural(tools.length, 'tool')} of ${agent_id} to approve`}
              >
                <p>
                  <Words text={tools.join(', ')} limit={400} />
                </p>
                <p>
                  <a href={toHref(['agents', agent_id])}>See what changed</a>
                </p>
              </Card>
            ))}
            {data.off.map((off) => (
              <details key={off.part}>
                <summary>{off.message}</summary>
                <p class="muted">{off.fix}</p>
              </details>
            ))}
          </>
        );
      }}
    </Page>
  );
}

export function JobQuestions(props: {
  job: Pick<JobView, 'job_id' | 'agent_id'>;
  questions: readonly Question[];
  onDone: () => void;
}) {
  const { job_id, agent_id = 'The agent' } = props.job;
  const answer = async (inputs: readonly GivenInput[]) => {
    await act('POST', `jobs/${encodeURIComponent(job_id)}/input`, { inputs });
    notify('ok', 'The answer was sent; the job goes on.');
    props.onDone();
  };
  return <Questions from={agent_id} questions={props.questions} onAnswer={answer} />;
}
