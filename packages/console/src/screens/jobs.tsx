import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import {
  type FabricEvent,
  JOB_STATES,
  type JobDetail,
  type JobEvents,
  type JobPage,
  type JobView,
} from '../api-types.ts';
import { act, GatewayError, request } from '../state/api.ts';
import { duration, toMs } from '../state/format.ts';
import { useLines } from '../state/live.ts';
import { useResource } from '../state/resource.ts';
import { navigate, replaceQuery, route, toHref } from '../state/router.ts';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Confirm } from '../ui/dialog.tsx';
import { EventList } from '../ui/event-list.tsx';
import {
  Button,
  Card,
  CodeBlock,
  Empty,
  Facts,
  Json,
  Loaded,
  OwnOnly,
  PageHead,
  Problem,
  Status,
  TextBox,
  Time,
} from '../ui/parts.tsx';
import { Questions } from '../ui/questions.tsx';
import { notify } from '../ui/toasts.tsx';
import { Words } from '../ui/words.tsx';
import { answerJob } from './inbox.tsx';

export function Jobs() {
  const [, id] = route.value.path;
  return id === undefined ? <List /> : <Job id={id} />;
}

const COLUMNS: readonly Column<JobView>[] = [
  {
    title: 'Job',
    cell: ({ agent_id, capability }) => <Words text={`${agent_id ?? 'any'} · ${capability}`} />,
  },
  { title: 'State', width: '150px', cell: ({ state }) => <Status value={state} /> },
  { title: 'Progress', width: '160px', cell: (job) => <Progress job={job} />, from: 'small' },
  {
    title: 'Attempt',
    width: '80px',
    cell: ({ attempt, attempts_allowed }) => `${attempt} of ${attempts_allowed}`,
    from: 'medium',
  },
  {
    title: 'Owner',
    width: '140px',
    cell: ({ principal }) => <Words text={principal} />,
    from: 'medium',
  },
  { title: 'Created', width: '120px', cell: ({ created_at }) => <Time at={created_at} /> },
];

function List() {
  const state = route.value.query.get('state') ?? '';
  const older = useSignal<readonly JobView[]>([]);
  const next = useSignal<string | undefined>(undefined);
  const page = useResource<JobPage>('jobs', { state, limit: 100 }, ({ type }) => type === 'job');
  useEffect(() => {
    older.value = [];
    next.value = undefined;
  }, [state]);
  const more = async () => {
    const cursor = older.value.length > 0 ? next.value : page.data?.next_cursor;
    if (cursor === undefined) return;
    const answer = await request<JobPage>('GET', 'jobs', { query: { state, limit: 100, cursor } });
    if (!answer.running) return;
    next.value = answer.next_cursor;
    older.value = [...older.value, ...answer.jobs];
  };
  return (
    <div class="screen tall">
      <PageHead title="Jobs" lead="Calls that are stored before they are answered." />
      <search class="filters">
        <select
          aria-label="State"
          data-filter=""
          value={state}
          onChange={(event) => replaceQuery({ state: event.currentTarget.value || undefined })}
        >
          <option value="">Any state</option>
          {JOB_STATES.map((name) => (
            <option key={name} value={name}>
              {name.replace('_', ' ')}
            </option>
          ))}
        </select>
      </search>
      <div class="fill">
        <Loaded from={page}>
          {(data) => {
            const known = new Set(data.jobs.map(({ job_id }) => job_id));
            const rows = [...data.jobs, ...older.value.filter(({ job_id }) => !known.has(job_id))];
            return (
              <>
                <OwnOnly scope={data.scope} what="jobs" right="admin:jobs" />
                {rows.length === 0 ? (
                  <NoJobs isNarrowed={state !== ''} />
                ) : (
                  <DataTable
                    label="Jobs"
                    columns={COLUMNS}
                    rows={rows}
                    rowKey={({ job_id }) => job_id}
                    href={({ job_id }) => toHref(['jobs', job_id])}
                    memory={`jobs ${state}`}
                    onNearEnd={() => void more()}
                  />
                )}
              </>
            );
          }}
        </Loaded>
      </div>
    </div>
  );
}

function NoJobs({ isNarrowed }: { isNarrowed: boolean }) {
  if (isNarrowed) return <Empty title="No job is in this state." />;
  return (
    <Empty title="No jobs yet.">
      <p>A job outlives restarts, can be cancelled, and keeps its events. In a terminal:</p>
      <CodeBlock
        text='starloom call percy reason "Why do agents need a fabric?" --async'
        label="Command that starts a job"
      />
    </Empty>
  );
}

function Progress({ job }: { job: JobView }) {
  const { progress, state } = job;
  if (state === 'succeeded') return <span class="muted">done</span>;
  if (progress === undefined) return null;
  return (
    <span class="progress-cell">
      {progress.percent !== undefined && (
        <progress
          max={100}
          value={progress.percent}
          aria-label={`Progress: ${progress.percent} %`}
        />
      )}
      <Words text={progress.message ?? ''} limit={60} />
    </span>
  );
}

function Job({ id }: { id: string }) {
  const path = `jobs/${encodeURIComponent(id)}`;
  const resource = useResource<{ job: JobDetail }>(
    path,
    {},
    (line) => line.type === 'job' && line.job.job_id === id,
  );
  return (
    <div class="screen">
      <p class="crumbs">
        <a href={toHref(['jobs'])}>Jobs</a>
      </p>
      {resource.error?.status === 404 && resource.data === undefined ? (
        <Empty title="There is no such job, or it is not yours." />
      ) : (
        <Loaded from={resource}>
          {({ job }) => <Detail job={job} path={path} reload={resource.reload} />}
        </Loaded>
      )}
    </div>
  );
}

function Detail({ job, path, reload }: { job: JobDetail; path: string; reload: () => void }) {
  const isCancelling = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const isOver = ['succeeded', 'failed', 'cancelled'].includes(job.state);
  const retry = async () => {
    error.value = undefined;
    try {
      const answer = await act<{ job: JobDetail }>('POST', `${path}/retry`);
      notify('ok', 'A new job runs the same call.');
      navigate(toHref(['jobs', answer.job.job_id]));
    } catch (problem) {
      error.value = problem;
    }
  };
  return (
    <>
      <PageHead
        title={<Words text={`${job.agent_id ?? 'any agent'} · ${job.capability}`} />}
        lead={
          <Status value={job.state} label={job.cancelling && !isOver ? 'cancelling' : undefined} />
        }
      >
        {!isOver && !job.cancelling && (
          <Button kind="danger" onClick={() => (isCancelling.value = true)}>
            Cancel
          </Button>
        )}
        {isOver && job.is_own && (
          <Button kind="main" onClick={() => void retry()}>
            Run again
          </Button>
        )}
      </PageHead>
      {error.value !== undefined && <Problem error={error.value} />}
      <Card title="State">
        {job.progress && !isOver && (
          <p>
            <progress max={100} value={job.progress.percent} aria-label="Progress" />{' '}
            {job.progress.percent !== undefined && `${Math.round(job.progress.percent)} % `}
            <Words text={job.progress.message ?? ''} limit={200} />
          </p>
        )}
        <Facts
          rows={[
            ['Job', <code>{job.job_id}</code>],
            ['Owner', <Words text={job.principal} />],
            ['Created', <Time at={job.created_at} style="full" />],
            ['Changed', <Time at={job.updated_at} />],
            ['Attempt', `${job.attempt} of ${job.attempts_allowed}`],
            ['Runs at', job.run_at && <Time at={job.run_at} style="full" />],
            ['Took', job.finished_at && duration(toMs(job.finished_at) - toMs(job.created_at))],
            ['Must end by', job.deadline_at && <Time at={job.deadline_at} style="full" />],
            [
              'Repeats',
              job.retry_of && <a href={toHref(['jobs', job.retry_of])}>{job.retry_of}</a>,
            ],
            ['Trace', <a href={toHref(['calls', job.trace_id])}>{job.trace_id}</a>],
          ]}
        />
      </Card>
      {job.error && <Problem error={new GatewayError(job.error, 0, job.trace_id)} />}
      {job.state === 'awaiting_input' && job.inputs && (
        <Card title="The agent asks">
          {job.is_own ? (
            <Questions
              from={job.agent_id ?? 'The agent'}
              questions={job.inputs}
              onAnswer={async (inputs) => {
                await answerJob(job.job_id, inputs);
                reload();
              }}
            />
          ) : (
            <p class="muted">Only its owner can answer.</p>
          )}
        </Card>
      )}
      {job.result?.result && (
        <Card title="Answer">
          {job.result.result.answer !== undefined && (
            <TextBox class="answer" label="Answer" text={job.result.result.answer} />
          )}
          {job.result.result.data !== undefined && (
            <Json value={job.result.result.data} label="Data of the answer" />
          )}
        </Card>
      )}
      {job.is_own && <StoredEvents job={job} path={path} />}
      {isCancelling.value && (
        <Confirm
          title="Cancel this job?"
          action="Cancel the job"
          onClose={() => (isCancelling.value = false)}
          onConfirm={async () => {
            await act('POST', `${path}/cancel`);
            reload();
          }}
        >
          <p>The agent is asked to stop. What it did already stays done.</p>
        </Confirm>
      )}
    </>
  );
}

const MAX_SHOWN = 1000;

/** All that happened, over every attempt and restart: read on from the last cursor when it grows. */
function StoredEvents({ job, path }: { job: JobDetail; path: string }) {
  const events = useSignal<readonly FabricEvent[]>([]);
  const cursor = useSignal(0);
  const isReading = useSignal(false);
  const read = async () => {
    if (isReading.peek()) return;
    isReading.value = true;
    try {
      for (;;) {
        const query = { after: cursor.peek() };
        const page = await request<JobEvents>('GET', `${path}/events`, { query });
        if (!page.running || page.events.length === 0) break;
        cursor.value = page.cursor;
        events.value = [...events.peek(), ...page.events].slice(-MAX_SHOWN);
      }
    } catch {
      // The state above says what is wrong; the next change reads again.
    } finally {
      isReading.value = false;
    }
  };
  useEffect(() => {
    if (job.cursor > cursor.peek()) void read();
  }, [job.cursor]);
  useLines((line) => line.type === 'hello' && void read(), []);
  if (events.value.length === 0) return null;
  return (
    <Card title="Events">
      <EventList events={events.value} start={job.created_at} />
    </Card>
  );
}
