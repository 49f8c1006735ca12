import { useSignal } from '@preact/signals';
import type { ApprovalView, GivenInput, Inbox, JobDetail } from '../api-types.ts';
import { act } from '../state/api.ts';
import { plural } from '../state/format.ts';
import { inboxCount } from '../state/live.ts';
import { useResource } from '../state/resource.ts';
import { toHref } from '../state/router.ts';
import {
  Button,
  Card,
  Empty,
  Json,
  Loaded,
  PageHead,
  Problem,
  Status,
  Time,
} from '../ui/parts.tsx';
import { Questions } from '../ui/questions.tsx';
import { notify } from '../ui/toasts.tsx';
import { Words } from '../ui/words.tsx';

/** What waits for this person: questions of agents, approvals, changed tools. */
export function InboxScreen() {
  const inbox = useResource<Inbox>('inbox', {}, ({ type }) => type === 'inbox' || type === 'job');
  return (
    <div class="screen">
      <PageHead title="Inbox" lead="What agents and rules wait for you to decide." />
      <Loaded from={inbox}>
        {(data) => {
          const total = data.questions.length + data.approvals.length + data.held.length;
          inboxCount.value = total;
          return (
            <>
              {total === 0 && (
                <Empty title="Nothing waits for you.">
                  <p>
                    Questions of agents in jobs, calls that a rule wants approved, and tools that
                    changed appear here as they happen.
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
              {data.approvals.map((approval) => (
                <Approval key={approval.id} approval={approval} onDone={inbox.reload} />
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

function Approval({ approval, onDone }: { approval: ApprovalView; onDone: () => void }) {
  const note = useSignal('');
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const decide = async (decision: 'approve' | 'deny') => {
    isBusy.value = true;
    error.value = undefined;
    try {
      const text = note.value.trim();
      await act('POST', `approvals/${encodeURIComponent(approval.id)}`, {
        decision,
        ...(text !== '' && { note: text }),
      });
      notify('ok', decision === 'approve' ? 'Approved.' : 'Denied.');
      onDone();
    } catch (problem) {
      error.value = problem;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Card
      title={<Words text={`${approval.agent_id} · ${approval.capability}`} />}
      actions={<Status value={approval.state} />}
    >
      <p>
        <Words text={approval.principal} /> wants to make this call; the rule{' '}
        <code>{approval.rule}</code> asks first. Open until{' '}
        <Time at={approval.expires_at} style="full" />.
      </p>
      {approval.arguments !== undefined && (
        <Json value={approval.arguments} label="Arguments of the call" />
      )}
      {error.value !== undefined && <Problem error={error.value} />}
      {approval.may_decide ? (
        <>
          <label>
            Note (optional)
            <input
              type="text"
              value={note.value}
              onInput={(event) => {
                note.value = event.currentTarget.value;
              }}
            />
          </label>
          <div class="buttons">
            <Button kind="main" busy={isBusy.value} onClick={() => void decide('approve')}>
              Approve
            </Button>
            <Button kind="danger" busy={isBusy.value} onClick={() => void decide('deny')}>
              Deny
            </Button>
          </div>
        </>
      ) : (
        <p class="muted">You may see this, but not decide it.</p>
      )}
    </Card>
  );
}
