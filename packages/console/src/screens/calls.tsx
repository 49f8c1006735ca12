import { useEffect, useMemo } from 'preact/hooks';
import type { CallFilter, CallRow } from '../api-types.ts';
import { CallList, MAX_ROWS } from '../state/call-list.ts';
import { bytes, count, duration, plural } from '../state/format.ts';
import { useLines } from '../state/live.ts';
import { route, toHref } from '../state/router.ts';
import { CallStatusBadge } from '../ui/call-status.tsx';
import type { Column } from '../ui/data-table.tsx';
import { FilterChoice, TypedFilter } from '../ui/fields.tsx';
import { Button, Empty, Time } from '../ui/parts.tsx';
import { ListScreen } from '../ui/screen.tsx';
import { Words } from '../ui/words.tsx';
import { Call } from './call.tsx';

export function Calls() {
  const [, trace] = route.value.path;
  return trace === undefined ? <List /> : <Call trace={trace} />;
}

const FIELDS = ['q', 'status', 'agent', 'capability', 'principal', 'face', 'fallback', 'min_ms'];

const COLUMNS: readonly Column<CallRow>[] = [
  { title: 'Time', width: '92px', cell: ({ at }) => <Time at={at} style="clock" /> },
  {
    title: 'Agent',
    cell: ({ agent_id, primary_id, fallback, capability }) => (
      <>
        {fallback && primary_id !== undefined && (
          <>
            <s class="muted">
              <Words text={primary_id} />
            </s>{' '}
            →{' '}
          </>
        )}
        {agent_id === undefined ? (
          <span class="muted">
            <span class="from-small">gateway</span>
            <span class="to-small">
              <Words text={capability} />
            </span>
          </span>
        ) : (
          <Words text={agent_id} />
        )}
      </>
    ),
  },
  { title: 'Capability', cell: 'capability', from: 'small' },
  { title: 'Status', width: 'min(176px, 38%)', cell: (call) => <CallStatusBadge call={call} /> },
  {
    title: 'Took',
    width: '84px',
    align: 'end',
    from: 'small',
    cell: ({ duration_ms }) => (duration_ms === undefined ? '…' : duration(duration_ms)),
  },
  { title: 'Caller', cell: 'principal', from: 'medium' },
  { title: 'Through', width: '90px', cell: 'face', from: 'medium' },
  {
    title: 'Size',
    width: '90px',
    align: 'end',
    from: 'large',
    cell: ({ response_bytes }) => (response_bytes === undefined ? '' : bytes(response_bytes)),
  },
  {
    title: 'Trace',
    width: '110px',
    from: 'large',
    cell: ({ trace_id }) => <code>{trace_id.slice(0, 8)}</code>,
  },
];

/** The last list is kept: coming back from a call finds it as it was. */
let kept: { readonly key: string; readonly list: CallList } | undefined;

function List() {
  const { query } = route.value;
  const filter: CallFilter = Object.fromEntries(
    FIELDS.map((name) => [name, query.get(name) ?? '']).filter(([, value]) => value !== ''),
  );
  const key = JSON.stringify(filter);
  const list = useMemo(() => {
    if (kept?.key !== key) kept = { key, list: new CallList(filter) };
    return kept.list;
  }, [key]);
  useEffect(() => {
    void list.refresh();
    return () => list.close();
  }, [list]);
  useLines((line) => (line.type === 'hello' ? void list.refresh() : list.take(line)), [list]);
  const rows = list.rows.value;
  const isNarrowed = key !== '{}';
  return (
    <ListScreen
      name="calls"
      title="Calls"
      lead={`${count(rows.length)}${list.isComplete.value ? '' : '+'} calls${isNarrowed ? ' match' : ', newest first'}`}
      actions={
        <span aria-live="polite">
          {list.waiting.value > 0 && (
            <Button kind="main" onClick={() => showNew(list)}>
              Show {plural(list.waiting.value, 'new call')}
            </Button>
          )}
        </span>
      }
      filters={<Filters status={filter.status} />}
      from={list.shown}
      columns={COLUMNS}
      rowsOf={({ calls }) => calls}
      keyOf={({ call_id }) => call_id}
      hrefOf={({ trace_id, call_id }) => toHref(['calls', trace_id], { call: call_id })}
      memory={`calls ${key}`}
      empty={() => <NoCalls isNarrowed={isNarrowed} />}
      below={
        rows.length >= MAX_ROWS && (
          <p class="muted small">
            The newest {count(MAX_ROWS)} are shown. Narrow the list to see older ones.
          </p>
        )
      }
      onLeaveTop={(left) => list.hold(left)}
      onNearEnd={() => void list.more()}
    />
  );
}

function showNew(list: CallList): void {
  const box = document.querySelector('.table-box');
  if (box !== null) box.scrollTop = 0;
  list.hold(false);
}

function NoCalls({ isNarrowed }: { isNarrowed: boolean }) {
  if (isNarrowed) {
    return (
      <Empty title="No call matches.">
        <p>
          <a href={toHref(['calls'])}>Clear the filters</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No calls yet.">
      <p>
        Calls of every client appear here as they happen. <a href={toHref(['try'])}>Make one</a>, or{' '}
        <a href={toHref(['settings'], { tab: 'connect' })}>connect a client</a>.
      </p>
    </Empty>
  );
}

function Filters({ status }: { status: string | undefined }) {
  const isCode = status !== undefined && !(status in STATUSES);
  const statuses = isCode ? { ...STATUSES, [status]: status } : STATUSES;
  const choice = (name: keyof CallFilter, any: string, options: Record<string, string>) => (
    <FilterChoice name={name} label={any} any={any} options={options} />
  );
  return (
    <>
      <TypedFilter name="q" label="Search" />
      {choice('status', 'Any status', statuses)}
      <TypedFilter name="agent" label="Agent" />
      <TypedFilter name="capability" label="Capability" />
      <TypedFilter name="principal" label="Caller" />
      {choice('fallback', 'Any fallback', { true: 'Fell back', false: 'Did not fall back' })}
      {choice('min_ms', 'Any duration', {
        '100': 'Over 100 ms',
        '1000': 'Over 1 s',
        '10000': 'Over 10 s',
      })}
    </>
  );
}

const STATUSES: Record<string, string> = {
  ok: 'Succeeded',
  error: 'Failed',
  running: 'Running',
  input_required: 'Asks',
  cancelled: 'Cancelled',
};
