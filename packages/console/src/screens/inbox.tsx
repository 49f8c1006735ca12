import type { GivenInput, Inbox, JobDetail } from '../api-types.ts';
import { act } from '../state/api.ts';
import { plural } from '../state/format.ts';
import { inboxCount } from '../state/live.ts';
import { useResource } from '../state/resource.ts';
import { toHref } from '../state/router.ts';
import { Card, Empty, Loaded, PageHead, Time } from '../ui/parts.tsx';
import { Questions } from '../ui/questions.tsx';
import { notify } from '../ui/toasts.tsx';
import { Words } from '../ui/words.tsx';

/** What waits for this person: questions of agents, changed tools. */
export function InboxScreen() {
  const inbox = useResource<Inbox>('inbox', {}, ({ type }) => type === 'inbox' || type === 'job');
  return (
    <div class="screen">
      <PageHead title="Inbox" lead="What agents wait for you to decide." />
      <Loaded from={inbox}>
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
                  <Questions
                    from={question.agent_id ?? 'The agent'}
                    questions={question.inputs}
                    onAnswer={async (inputs) => {
                      await answerJob(question.job_id, inputs);
                      inbox.reload();
                    }}
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
      </Loaded>
    </div>
  );
}

export async function answerJob(jobId: string, inputs: readonly GivenInput[]): Promise<void> {
  await act<{ job: JobDetail }>('POST', `jobs/${encodeURIComponent(jobId)}/input`, { inputs });
  notify('ok', 'The answer was sent; the job goes on.');
}
