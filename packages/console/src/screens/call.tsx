import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { CallDetail, CallTrace, ChainLink, FabricEvent, TryRequest } from '../api-types.ts';
import { GatewayError } from '../state/api.ts';
import { duration, plural } from '../state/format.ts';
import { useInterest, useLines } from '../state/live.ts';
import { useResource } from '../state/resource.ts';
import { navigate, replaceQuery, route, toHref } from '../state/router.ts';
import { who } from '../state/session.ts';
import { tryDraft } from '../state/try-draft.ts';
import { CallStatusBadge } from '../ui/call-status.tsx';
import { Chain } from '../ui/chain.tsx';
import { COPY_KINDS, copyAs } from '../ui/copy-as.ts';
import { PlainTable } from '../ui/data-table.tsx';
import { EventList } from '../ui/event-list.tsx';
import {
  Badge,
  Button,
  Card,
  Copy,
  Empty,
  Facts,
  Json,
  PageHead,
  Problem,
  Status,
  Time,
} from '../ui/parts.tsx';
import { DetailScreen } from '../ui/screen.tsx';
import { Waterfall } from '../ui/waterfall.tsx';
import { Words } from '../ui/words.tsx';

const MAX_EVENTS = 2000;

export function Call({ trace }: { trace: string }) {
  const events = useSignal<readonly { call_id: string; event: FabricEvent }[]>([]);
  const resource = useResource<CallTrace>(
    `calls/${encodeURIComponent(trace)}`,
    {},
    (line) => line.type === 'call' && line.call.trace_id === trace,
  );
  useInterest({ trace });
  useEffect(() => {
    events.value = [];
  }, [trace]);
  useLines(
    (line) => {
      if (line.type !== 'event' || line.trace_id !== trace) return;
      const { call_id, event } = line;
      events.value = [...events.value.slice(1 - MAX_EVENTS), { call_id, event }];
    },
    [trace],
  );
  return (
    <DetailScreen
      name="calls"
      title="Calls"
      from={resource}
      missing={
        <Empty title="This call is not in the journal.">
          <p>It may be older than the journal keeps, or belong to another principal.</p>
        </Empty>
      }
    >
      {(data) => <Trace data={data} events={events.value} />}
    </DetailScreen>
  );
}

function Trace(props: {
  data: CallTrace;
  events: readonly { call_id: string; event: FabricEvent }[];
}) {
  const { data } = props;
  const named = route.value.query.get('call');
  const call = data.calls.find(({ call_id }) => call_id === named) ?? data.calls[0];
  if (call === undefined) return <Empty title="This trace has no call that you may see." />;
  const events = props.events.filter(({ call_id }) => call_id === call.call_id);
  return (
    <>
      <Head call={call} />
      {call.fallback && <FallbackNote call={call} />}
      {call.error && <Problem error={new GatewayError(call.error, 0, data.trace_id)} />}
      {data.calls.length > 1 && <Hops data={data} current={call.call_id} />}
      <Card
        title="Waterfall"
        actions={<span class="muted small">{duration(data.duration_ms)} in all</span>}
      >
        <Waterfall spans={data.spans} total={data.duration_ms} />
      </Card>
      <div class="columns">
        <Card title="Who acts for whom">
          <Delegation call={call} />
        </Card>
        <Card title="Attempts">
          <Attempts call={call} />
        </Card>
      </div>
      <Card
        title="Events"
        actions={
          <span class="muted small">
            {call.events.map(({ type, count }) => `${count} ${type}`).join(', ') ||
              'none counted yet'}
          </span>
        }
      >
        {events.length > 0 ? (
          <EventList events={events.map(({ event }) => event)} start={call.at} />
        ) : (
          <p class="muted">
            {call.status === 'running'
              ? 'Events appear here as they stream.'
              : 'Events are shown while a call runs; afterwards the journal keeps their number and time.'}
          </p>
        )}
        {call.events.length > 0 && events.length === 0 && (
          <PlainTable
            label="Events by type"
            rows={call.events}
            rowKey={({ type }) => type}
            columns={[
              { title: 'Type', cell: 'type' },
              { title: 'Number', cell: 'count', align: 'end' },
              { title: 'First', cell: ({ first_ms }) => duration(first_ms), align: 'end' },
              { title: 'Last', cell: ({ last_ms }) => duration(last_ms), align: 'end' },
            ]}
          />
        )}
      </Card>
      <Payloads call={call} />
    </>
  );
}

function Head({ call }: { call: CallDetail }) {
  const again: TryRequest = call.again ?? {
    capability: call.capability,
    ...(call.agent_id !== undefined && { agent_id: call.primary_id ?? call.agent_id }),
  };
  const runAgain = () => {
    tryDraft.value = { request: again, isWhole: call.again !== undefined };
    navigate(toHref(['try', ...(again.agent_id ? [again.agent_id, again.capability] : [])]));
  };
  const url = who()?.gateway.url ?? location.origin;
  return (
    <>
      <PageHead
        title={<Words text={`${call.primary_id ?? call.agent_id ?? '?'} · ${call.capability}`} />}
        lead={
          <span class="chips">
            <CallStatusBadge call={call} /> <Time at={call.at} style="full" />
            {call.duration_ms !== undefined && <span>took {duration(call.duration_ms)}</span>}
          </span>
        }
      >
        {who()?.rights.call && (
          <Button kind="main" onClick={runAgain}>
            Run again
          </Button>
        )}
        {COPY_KINDS.map((kind) => (
          <Copy key={kind} label={`Copy as ${kind}`} text={() => copyAs(kind, again, url)} />
        ))}
      </PageHead>
      <Facts
        rows={[
          ['Trace', <code>{call.trace_id}</code>],
          ['Through', call.face],
          ['Depth', call.depth],
          ['Job', call.job_id && <a href={toHref(['jobs', call.job_id])}>{call.job_id}</a>],
          [
            'Session',
            call.session_id && (
              <a href={toHref(['sessions', call.session_id])}>{call.session_id}</a>
            ),
          ],
          ['Cost', call.cost],
        ]}
      />
    </>
  );
}

function FallbackNote({ call }: { call: CallDetail }) {
  const failed = call.tries.filter(({ status }) => status === 'error');
  return (
    <p class="note">
      <strong>
        <Words text={call.primary_id ?? failed[0]?.agent_id ?? 'The first agent'} />
      </strong>{' '}
      failed
      {failed[0]?.error_code && ` with ${failed[0].error_code}`}, so{' '}
      <strong>
        <Words text={call.agent_id ?? 'another agent'} />
      </strong>{' '}
      answered.
    </p>
  );
}

function Hops({ data, current }: { data: CallTrace; current: string }) {
  return (
    <Card title={`${plural(data.calls.length, 'call')} on this trace`}>
      <ul class="rows">
        {data.calls.map((call) => (
          <li key={call.call_id}>
            <button
              type="button"
              class="link grow hop"
              aria-pressed={call.call_id === current}
              onClick={() => replaceQuery({ call: call.call_id })}
            >
              <Words
                text={`${'› '.repeat(Math.max(0, call.depth - 1))}${call.agent_id ?? '?'} · ${call.capability}`}
              />
            </button>
            <span class="muted">
              for <Words text={call.principal} />
            </span>
            <CallStatusBadge call={call} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Delegation({ call }: { call: CallDetail }) {
  return (
    <>
      <Chain links={withServer(call)} />
      <Facts rows={[['Decided by', call.policy && `${call.policy.rule}: ${call.policy.effect}`]]} />
      {call.labels.length > 0 && (
        <p class="chips">
          {call.labels.map(({ name, value }) => (
            <Badge key={name} tone="info">
              <Words text={`${name}: ${value}`} />
            </Badge>
          ))}
        </p>
      )}
    </>
  );
}

/** The chain ends with the agent that served the call. */
function withServer({ chain, agent_id }: CallDetail): readonly ChainLink[] {
  const isThere =
    agent_id === undefined || chain.some(({ kind, id }) => kind === 'agent' && id === agent_id);
  return isThere ? chain : [...chain, { kind: 'agent', id: agent_id }];
}

function Attempts({ call }: { call: CallDetail }) {
  const { route: chosen } = call;
  return (
    <>
      <ul class="rows">
        {call.tries.map((attempt, index) => (
          <li key={`${attempt.agent_id} ${index}`}>
            <a class="grow" href={toHref(['agents', attempt.agent_id])}>
              <Words
                text={attempt.node_id ? `${attempt.agent_id}@${attempt.node_id}` : attempt.agent_id}
              />
            </a>
            <span class="muted">{attempt.kind}</span>
            {attempt.duration_ms !== undefined && <span>{duration(attempt.duration_ms)}</span>}
            <Status value={attempt.status} label={attempt.error_code} />
            {attempt.message && (
              <p class="small muted">
                <Words text={attempt.message} limit={400} />
              </p>
            )}
          </li>
        ))}
        {call.tries.length === 0 && <li class="muted">No agent was asked.</li>}
      </ul>
      {chosen !== undefined && (chosen.candidates.length > 0 || chosen.skipped.length > 0) && (
        <details>
          <summary>Why these agents</summary>
          <ul class="rows">
            {chosen.candidates.map(({ agent_id, reason }) => (
              <li key={agent_id}>
                <Words text={agent_id} /> <span class="muted">{reason}</span>
              </li>
            ))}
            {chosen.skipped.map(({ agent_id, reason }) => (
              <li key={agent_id}>
                <s>
                  <Words text={agent_id} />
                </s>{' '}
                <span class="muted">{reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Payloads({ call }: { call: CallDetail }) {
  if (call.request === undefined && call.response === undefined) {
    return (
      <Card title="Request and answer">
        <p class="muted">
          The journal does not keep payloads. With <code>journal.payloads: redacted</code> in{' '}
          <code>starloom.yaml</code> it does, without secrets.
        </p>
      </Card>
    );
  }
  return (
    <div class="columns">
      {call.request !== undefined && (
        <Card title="Request">
          <Json value={call.request} label="Request" />
        </Card>
      )}
      {call.response !== undefined && (
        <Card title="Answer">
          <Json value={call.response} label="Answer" />
        </Card>
      )}
    </div>
  );
}
