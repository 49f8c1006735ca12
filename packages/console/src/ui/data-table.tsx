// A table of any length: only the rows in view exist, and margins keep the height of the others.
// It is a native table with row numbers, so that readers know where they are. `j` and `k` move, Enter opens.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { navigate } from '../state/router.ts';
import { useShortcuts } from './keys.ts';
import { Card } from './parts.tsx';
import { asWords } from './words.tsx';

export interface Column<Row> {
  readonly title: string;
  /** A field of the row, or what is made of it. Texts are shown as the words of their author. */
  readonly cell: Plain<Row> | ((row: Row) => ComponentChildren);
  /** CSS width; the others share what is left. */
  readonly width?: string;
  /** Left out on pages narrower than this. */
  readonly from?: 'small' | 'medium' | 'large';
  readonly align?: 'end';
}

type Plain<Row> = {
  [Key in keyof Row]-?: Row[Key] extends string | number | undefined ? Key : never;
}[keyof Row];

const ROW = 36;
const EXTRA = 8;
const places = new Map<string, number>();

export function DataTable<Row>(props: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  href: (row: Row) => string;
  /** The person is not at the top: new rows should wait. */
  onLeaveTop?: ((left: boolean) => void) | undefined;
  onNearEnd?: (() => void) | undefined;
  /** Under this name the place in the list is kept for when the person comes back. */
  memory: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 600 });
  const active = useSignal(-1);
  const { rows } = props;

  const measure = (element: HTMLElement) => {
    view.value = { top: element.scrollTop, height: element.clientHeight };
  };
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    element.scrollTop = places.get(props.memory) ?? 0;
    const observer = new ResizeObserver(() => measure(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (active.peek() >= rows.length) active.value = rows.length - 1;
  }, [rows.length]);

  const onScroll = () => {
    const element = box.current;
    if (element === null) return;
    measure(element);
    places.set(props.memory, element.scrollTop);
    props.onLeaveTop?.(element.scrollTop > ROW / 2);
    const left = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (left < ROW * 40) props.onNearEnd?.();
  };
  const move = (to: number) => {
    const element = box.current;
    const index = Math.max(0, Math.min(rows.length - 1, to));
    if (element === null || rows.length === 0) return;
    active.value = index;
    const top = index * ROW;
    const room = element.clientHeight - ROW * 2;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + room) element.scrollTop = top - room;
    onScroll();
    requestAnimationFrame(() => {
      element
        .querySelector<HTMLElement>(`[data-index="${index}"] a`)
        ?.focus({ preventScroll: true });
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    move(active.peek() + step);
  };
  useShortcuts(
    [
      { keys: 'j', does: 'Next row', run: () => move(active.peek() + 1) },
      { keys: 'k', does: 'Previous row', run: () => move(active.peek() - 1) },
      { keys: 'Home', does: 'First row', run: () => move(0) },
      { keys: 'End', does: 'Last row', run: () => move(rows.length - 1) },
      { keys: 'PageDown', does: 'Page down', run: () => move(active.peek() + pageOf(box.current)) },
      { keys: 'PageUp', does: 'Page up', run: () => move(active.peek() - pageOf(box.current)) },
    ],
    [rows, props.href],
  );

  const first = Math.max(0, Math.floor(view.value.top / ROW) - EXTRA);
  const last = Math.min(rows.length, Math.ceil((view.value.top + view.value.height) / ROW) + EXTRA);
  const shown = rows.slice(first, last);
  return (
    <div class="table-box" ref={box} onScroll={onScroll}>
      <table
        class="data"
        aria-label={props.label}
        aria-rowcount={rows.length + 1}
        style={{ marginTop: `${first * ROW}px`, marginBottom: `${(rows.length - last) * ROW}px` }}
      >
        <thead>
          <tr aria-rowindex={1}>
            <Titles columns={props.columns} />
          </tr>
        </thead>
        <tbody>
          {shown.map((row, offset) => {
            const index = first + offset;
            const isActive = index === active.value;
            return (
              <tr
                key={props.rowKey(row)}
                data-index={index}
                aria-rowindex={index + 2}
                class={isActive ? 'active' : ''}
                onClick={(event) => openRow(event, props.href(row))}
              >
                <Cells
                  columns={props.columns}
                  row={row}
                  lead={(words) => (
                    <a
                      href={props.href(row)}
                      tabIndex={isActive || (active.value < 0 && index === first) ? 0 : -1}
                      onFocus={() => (active.value = index)}
                      onKeyDown={onKeyDown}
                    >
                      {words}
                    </a>
                  )}
                />
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface PlainTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
}

/** A card with a table in it. */
export function TableCard<Row>(
  props: Omit<PlainTableProps<Row>, 'label'> & {
    title: string;
    /** Of the table, where the title is not its name. */
    label?: string;
    actions?: ComponentChildren;
    /** In place of a table without rows. */
    empty?: string;
    /** Below the table. */
    children?: ComponentChildren;
  },
) {
  const { title, label = title, actions, empty, rows } = props;
  return (
    <Card title={title} actions={actions}>
      {rows.length === 0 && empty ? (
        <p class="muted">{empty}</p>
      ) : (
        <PlainTable {...props} label={label} />
      )}
      {props.children}
    </Card>
  );
}

/** A table that is never long. */
export function PlainTable<Row>(props: PlainTableProps<Row>) {
  return (
    <section class="plain-box" tabIndex={0} aria-label={props.label}>
      <table class="data">
        <thead>
          <tr>
            <Titles columns={props.columns} />
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <tr key={props.rowKey(row)}>
              <Cells columns={props.columns} row={row} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Titles<Row>({ columns }: { columns: readonly Column<Row>[] }) {
  return (
    <>
      {columns.map(({ title, width, from, align }) => (
        <th
          key={title}
          scope="col"
          class={classOf(from, align)}
          style={width ? { width } : undefined}
        >
          {title}
        </th>
      ))}
    </>
  );
}

function Cells<Row>(props: {
  columns: readonly Column<Row>[];
  row: Row;
  /** Goes around what the first cell shows. */
  lead?: (words: ComponentChildren) => ComponentChildren;
}) {
  const { columns, row, lead = (words) => words } = props;
  return (
    <>
      {columns.map(({ title, cell, from, align }, place) => {
        const words = asWords(
          typeof cell === 'function' ? cell(row) : (row[cell] as string | number | undefined),
        );
        return (
          <td key={title} class={classOf(from, align)}>
            {place === 0 ? lead(words) : words}
          </td>
        );
      })}
    </>
  );
}

function classOf(from?: string, align?: string): string {
  return `${from ? `from-${from}` : ''} ${align ?? ''}`.trim();
}

function pageOf(element: HTMLElement | null): number {
  return Math.max(1, Math.floor((element?.clientHeight ?? 0) / ROW) - 2);
}

function openRow(event: MouseEvent, href: string): void {
  if (event.target instanceof Element && event.target.closest('a, button') !== null) return;
  if (getSelection()?.isCollapsed === false) return;
  if (event.ctrlKey || event.metaKey) window.open(href, '_blank', 'noopener');
  else navigate(href);
}
