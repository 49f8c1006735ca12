import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import {
  type FabricEvent,
  JOB_STATES,
  type JobEvents,
  type JobPage,
  type JobView,
} from '../api-types.ts';
import { useAction } from '../state/action.ts';
import { act, GatewayError, request } from '../state/api.ts';
import { duration, toMs } from '../state/format.ts';
import { useLines } from '../state/live.ts';
import { useOlder, useResource } from '../state/resource.ts';
import { navigate, route, toHref } from '../state/router.ts';
import type { Column } from '../ui/data-table.tsx';
import { ConfirmButton } from '../ui/dialog.tsx';
import { EventList } from '../ui/event-list.tsx';
import { FilterChoice, titlesOf } from '../ui/fields.tsx';
import {
  Button,
  Card,
  CodeBlock,
  Empty,
  Facts,
  Json,
  PageHead,
  Problem,
  Status,
  TextBox,
  Time,
} from '../ui/parts.tsx';
import { DetailScreen, ListScreen } from '../ui/screen.tsx';
import { notify } from '../ui/toasts.tsx';
import { Words } from '../ui/words.tsx';
import { JobQuestions } from './inbox.tsx';

export function Jobs() {
  const [, id] = route.value.path;
  return id === undefined ? <List /> : <Job id={id} />;
}

const COLUMNS: readonly Column<JobView>[] = [
  { title: 'Job', cell: ({ agent_id, capability }) => `${agent_id ?? 'any'} · ${capability}` },
  { title: 'State', width: '150px', cell: ({ state }) => <Status value={state} /> },
  { title: 'Progress', width: '160px', cell: (job) => <Progress job={job} />, from: 'small' },
  {
    title: 'Attempt',
    width: '80px',
    cell: ({ attempt, attempts_allowed }) => `${attempt} of ${attempts_allowed}`,
    from: 'medium',
  },
  { title: 'Owner', width: '140px', cell: 'principal', from: 'medium' },
  {
    title: 'Created',
    width: '120px',
    cell: ({ created_at }) => <Time at={created_at} />,
    from: 'small',
  },
];

function List() {
  const state = route.value.query.get('state') ?? '';
  const page = useResource<JobPage>('jobs', { state, limit: 100 }, ({ type }) => type === 'job');
  const older = useOlder(page, 'jobs', { state, limit: 100 });
  return (
    <ListScreen
      name="jobs"
      title="Jobs"
      lead="Calls that are stored before they are answered."
      filters={
        <FilterChoice name="state" label="State" any="Any state" options={titlesOf(JOB_STATES)} />
      }
      from={page}
      columns={COLUMNS}
      rowsOf={({ jobs }) => {
        const known = new Set(jobs.map(({ job_id }) => job_id));
        const others = older.pages.flatMap((one) => one.jobs);
        return [...jobs, ...others.filter(({ job_id }) => !known.has(job_id))];
      }}
      keyOf={({ job_id }) => job_id}
      empty={() => <NoJobs isNarrowed={state !== ''} />}
      onNearEnd={() => void older.read()}
    />
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
  const resource = useResource<{ job: JobView }>(
    path,
    {},
    (line) => line.type === 'job' && line.job.job_id === id,
  );
  return (
    <DetailScreen
      name="jobs"
      title="Jobs"
      from={resource}
      missing={<Empty title="There is no such job, or it is not yours." />}
    >
      {({ job }) => <Detail job={job} path={path} reload={resource.reload} />}
    </DetailScreen>
  );
}

function Detail({ job, path, reload }: { job: JobView; path: string; reload: () => void }) {
  const retrying = useAction();
  const isOver = ['succeeded', 'failed', 'cancelled'].includes(job.state);
  const retry = async () => {
    const answer = await act<{ job: JobView }>('POST', `${path}/retry`);
    notify('ok', 'A new job runs the same call.');
    navigate(toHref(['jobs', answer.job.job_id]));
  };
  const { result } = job.result ?? {};
  return (
    <>
      <PageHead
        title={<Words text={`${job.agent_id ?? 'any agent'} · ${job.capability}`} />}
        lead={
          <Status value={job.state} label={job.cancelling && !isOver ? 'cancelling' : undefined} />
        }
      >
        {!isOver && !job.cancelling && (
          <ConfirmButton
            label="Cancel"
            title="Cancel this job?"
            action="Cancel the job"
            onConfirm={async () => {
              await act('POST', `${path}/cancel`);
              reload();
            }}
          >
            <p>The agent is asked to stop. What it did already stays done.</p>
          </ConfirmButton>
        )}
        {isOver && job.is_own && (
          <Button kind="main" action={retrying} does={retry}>
            Run again
          </Button>
        )}
      </PageHead>
      <Problem error={retrying.error} />
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
            ['Owner', job.principal],
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
            <JobQuestions job={job} questions={job.inputs} onDone={reload} />
          ) : (
            <p class="muted">Only its owner can answer.</p>
          )}
        </Card>
      )}
      {result && (
        <Card title="Answer">
          {result.answer !== undefined && (
            <TextBox class="answer" label="Answer" text={result.answer} />
          )}
          {result.data !== undefined && <Json value={result.data} label="Data of the answer" />}
        </Card>
      )}
      {job.is_own && <StoredEvents job={job} path={path} />}
    </>
  );
}

const MAX_SHOWN = 1000;

/** All that happened, over every attempt and restart: read on from the last cursor when it grows. */
function StoredEvents({ job, path }: { job: JobView; path: string }) {
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
