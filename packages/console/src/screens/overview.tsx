// The page people leave open: is it well, what fails, what is slow, what waits for me.

import { useSignal } from '@preact/signals';
import { useState } from 'preact/hooks';
import {
  type AgentRow,
  type CallRow,
  HEALTH_STATES,
  JOB_STATES,
  type Overview as OverviewData,
  type SeriesPoint,
  WINDOWS,
  type Window,
} from '../api-types.ts';
import { count, duration, percent, plural, timeOfDay } from '../state/format.ts';
import { keep, readKept } from '../state/kept.ts';
import { runningCalls } from '../state/live.ts';
import { useResource } from '../state/resource.ts';
import { replaceQuery, toHref } from '../state/router.ts';
import { who } from '../state/session.ts';
import { CallStatusBadge } from '../ui/call-status.tsx';
import { Segments, titlesOf } from '../ui/fields.tsx';
import { Lazy } from '../ui/lazy.tsx';
import { Badge, Card, CodeBlock, Empty, Off, Status, Time } from '../ui/parts.tsx';
import { Page } from '../ui/screen.tsx';
import { chosen } from '../ui/tabs.tsx';
import { Words } from '../ui/words.tsx';

const loadChart = async () => (await import('../ui/chart.tsx')).Chart;

export function Overview() {
  const window = chosen('window', WINDOWS);
  const overview = useResource<OverviewData>(
    'overview',
    { window },
    ({ type }) =>
      type === 'call' || type === 'agent' || type === 'job' || type === 'inbox' || type === 'beat',
  );
  return (
    <Page title="Overview" actions={<WindowPicker current={window} />} from={overview} own="calls">
      {(data) => <Content data={data} />}
    </Page>
  );
}

export function WindowPicker({ current }: { current: Window }) {
  return (
    <Segments
      legend="Time range"
      value={current}
      titles={titlesOf(WINDOWS)}
      set={(window) => replaceQuery({ window })}
    />
  );
}

function Content({ data }: { data: OverviewData }) {
  const { calls, agents, jobs, checklist } = data;
  const isDone = checklist.has_agent && checklist.has_call && checklist.has_client;
  return (
    <>
      {!isDone && <FirstSteps data={data} />}
      {calls === undefined ? (
        data.journal && <Card title="Calls">{<Off off={data.journal} />}</Card>
      ) : (
        <Calls calls={calls} />
      )}
      <div class="columns">
        <Card title="Agents" actions={<a href={toHref(['agents'])}>All agents</a>}>
          <HealthBar agents={agents} />
          {agents.held > 0 && (
            <p>
              <a href={toHref(['inbox'])}>
                <Badge tone="warn">{plural(agents.held, 'tool')} to approve</Badge>
              </a>
            </p>
          )}
          {agents.unwell.length > 0 && (
            <ul class="rows">
              {agents.unwell.map((agent) => (
                <UnwellAgent key={`${agent.agent_id}@${agent.node_id}`} agent={agent} />
              ))}
            </ul>
          )}
          {agents.total > 0 && agents.unwell.length === 0 && (
            <p class="muted">Every agent is online.</p>
          )}
        </Card>
        <Card title="Jobs" actions={<a href={toHref(['jobs'])}>All jobs</a>}>
          {jobs.running ? (
            <ul class="counters">
              {JOB_STATES.map((state) => (
                <li key={state}>
                  <a href={toHref(['jobs'], { state })}>
                    <span class="big">{count(jobs.by_state[state])}</span>
                    <Status value={state} />
                  </a>
                </li>
              ))}
            </ul>
          ) : (
            <Off off={jobs} />
          )}
        </Card>
        {calls !== undefined && calls.failed.length > 0 && (
          <Card
            title="Failed last"
            actions={<a href={toHref(['calls'], { status: 'error' })}>All failed calls</a>}
          >
            <CallList calls={calls.failed} />
          </Card>
        )}
        {calls !== undefined && calls.slowest.length > 0 && (
          <Card title="Slowest">
            <CallList calls={calls.slowest} />
          </Card>
        )}
        <Card title="Gateway">
          <ul class="rows">
            {data.engines.map((engine) => (
              <li key={engine.name}>
                <span class="grow">
                  {engine.name} <span class="muted">{engine.kind}</span>
                </span>
                {engine.latency_ms !== undefined && (
                  <span class="muted">{duration(engine.latency_ms)}</span>
                )}
                <Status value={engine.status} />
                {engine.reason && <p class="small">{engine.reason}</p>}
                {engine.fix && <p class="small muted">{engine.fix}</p>}
              </li>
            ))}
          </ul>
          <p class="muted small">
            Version {who()?.gateway.version}, up since{' '}
            <Time at={who()?.gateway.started_at ?? ''} style="full" />
          </p>
        </Card>
      </div>
    </>
  );
}

function Calls({ calls }: { calls: NonNullable<OverviewData['calls']> }) {
  const isOpen = useSignal(false);
  const running = runningCalls.value ?? calls.running;
  const tiles: readonly (readonly [string, string, string?])[] = [
    [
      'Calls',
      count(calls.calls),
      `${calls.per_minute.toFixed(calls.per_minute < 10 ? 1 : 0)} per minute`,
    ],
    ['Errors', percent(calls.errors, calls.calls), plural(calls.errors, 'call')],
    ['Fallbacks', count(calls.fallbacks), 'another agent was asked'],
    ['Median', duration(calls.p50_ms) || '–', 'half are faster'],
    ['p95', duration(calls.p95_ms) || '–', '1 of 20 is slower'],
    ['p99', duration(calls.p99_ms) || '–', '1 of 100 is slower'],
    ['Running', count(running), 'right now'],
  ];
  return (
    <Card
      title="Calls"
      actions={
        <button
          type="button"
          class="button plain small"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          {isOpen.value ? 'Close the chart' : 'Open the chart'}
        </button>
      }
    >
      <dl class="tiles">
        {tiles.map(([name, value, note]) => (
          <div key={name} class={name === 'Errors' && calls.errors > 0 ? 'bad' : ''}>
            <dt>{name}</dt>
            <dd>
              <span class="big">{value}</span>
              <span class="muted small">{note}</span>
            </dd>
          </div>
        ))}
      </dl>
      <Bars points={calls.series} stepMs={calls.step_ms} />
      {isOpen.value && <Lazy name="chart" load={loadChart} with={{ points: calls.series }} />}
      {calls.by_error.length > 0 && (
        <p class="chips">
          {calls.by_error.map(({ code, count: times }) => (
            <a key={code} class="chip" href={toHref(['calls'], { status: code })}>
              {code} <strong>{times}</strong>
            </a>
          ))}
        </p>
      )}
    </Card>
  );
}

const BARS_HEIGHT = 64;

/** Calls over time, the failed part of each step below in red; figures are in the chart's table. */
function Bars({ points, stepMs }: { points: readonly SeriesPoint[]; stepMs: number }) {
  const most = Math.max(1, ...points.map(({ calls }) => calls));
  const total = points.reduce((sum, { calls }) => sum + calls, 0);
  const failed = points.reduce((sum, { errors }) => sum + errors, 0);
  const first = points[0];
  return (
    <figure class="bars">
      <svg
        viewBox={`0 0 ${Math.max(1, points.length)} ${BARS_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${total} calls over time, ${failed} of them failed; at most ${most} in ${Math.round(stepMs / 1000)} seconds`}
      >
        {points.map(({ at, calls, errors }, index) => {
          const all = (calls / most) * BARS_HEIGHT;
          const bad = (errors / most) * BARS_HEIGHT;
          return (
            <g key={at}>
              <rect x={index + 0.1} width={0.8} y={BARS_HEIGHT - all} height={all} class="bar" />
              <rect
                x={index + 0.1}
                width={0.8}
                y={BARS_HEIGHT - bad}
                height={bad}
                class="bar bad"
              />
            </g>
          );
        })}
      </svg>
      <figcaption class="muted small">
        <span>{first === undefined ? '' : timeOfDay(first.at)}</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

function HealthBar({ agents }: { agents: OverviewData['agents'] }) {
  if (agents.total === 0) {
    return (
      <Empty title="No agents yet.">
        <p>
          <a href={toHref(['agents', 'add'])}>Add an agent</a>, or in a terminal:
        </p>
        <CodeBlock
          text="starloom agents add files -- npx -y @modelcontextprotocol/server-filesystem ."
          label="Command that adds an agent"
        />
      </Empty>
    );
  }
  const parts = HEALTH_STATES.filter((state) => agents.by_health[state] > 0);
  return (
    <>
      <div class="stack" aria-hidden="true">
        {parts.map((state) => (
          <span key={state} class={state} style={{ flexGrow: agents.by_health[state] }} />
        ))}
      </div>
      <p class="chips">
        {parts.map((state) => (
          <Status key={state} value={state} label={`${agents.by_health[state]} ${state}`} />
        ))}
      </p>
    </>
  );
}

function UnwellAgent({ agent }: { agent: AgentRow }) {
  const { health } = agent;
  return (
    <li>
      <a class="grow" href={toHref(['agents', agent.agent_id])}>
        <Words text={agent.agent_id} />
      </a>
      <Status value={health.status} />
      {(health.message ?? health.reason) && (
        <p class="small muted">
          <Words text={health.message ?? health.reason ?? ''} limit={160} />
        </p>
      )}
    </li>
  );
}

function CallList({ calls }: { calls: readonly CallRow[] }) {
  return (
    <ul class="rows">
      {calls.map((call) => (
        <li key={call.call_id}>
          <a class="grow" href={toHref(['calls', call.trace_id])}>
            <Words text={`${call.primary_id ?? call.agent_id ?? '?'} · ${call.capability}`} />
          </a>
          {call.duration_ms !== undefined && (
            <span class="muted">{duration(call.duration_ms)}</span>
          )}
          <CallStatusBadge call={call} />
          <span class="muted small">
            <Time at={call.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function FirstSteps({ data }: { data: OverviewData }) {
  const [isHidden, setHidden] = useState(readKept('first-steps') === 'hidden');
  const hide = () => {
    keep('first-steps', 'hidden');
    setHidden(true);
  };
  const { checklist } = data;
  if (isHidden) return null;
  const steps: readonly (readonly [boolean, string, string, string])[] = [
    [
      checklist.has_agent,
      'Add an agent',
      toHref(['agents', 'add']),
      'An MCP server, an A2A agent, any HTTP endpoint.',
    ],
    [
      checklist.has_online_agent,
      'See it online',
      toHref(['agents']),
      'Its health, its tools and where it runs.',
    ],
    [
      checklist.has_call,
      'Make a call',
      toHref(['try']),
      'A form from its schema; the answer streams.',
    ],
    [
      checklist.has_client,
      'Connect your client',
      toHref(['settings'], { tab: 'connect' }),
      'Ready to copy for your editor or agent.',
    ],
  ];
  return (
    <Card
      title="First steps"
      class="steps"
      actions={
        <button type="button" class="link" onClick={hide}>
          Hide
        </button>
      }
    >
      <ol>
        {steps.map(([isDone, title, href, note]) => (
          <li key={title} class={isDone ? 'done' : ''}>
            <Badge tone={isDone ? 'ok' : 'quiet'}>{isDone ? 'done' : 'to do'}</Badge>
            <span>
              <a href={href}>{title}</a>
              <span class="muted small">{note}</span>
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}
