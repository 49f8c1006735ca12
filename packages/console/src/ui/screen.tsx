// The shapes that screens have: a page about one thing, a list that fills the page, and one thing of such
// a list.

import type { ComponentChildren } from 'preact';
import type { Older, Readable } from '../state/resource.ts';
import { toHref } from '../state/router.ts';
import { type Column, DataTable } from './data-table.tsx';
import { Button, Loaded, PageHead } from './parts.tsx';

interface HeadProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
}

export function Page<Data extends object>(
  props: HeadProps & {
    from: Readable<Data>;
    /** Between the heading and the data. */
    tools?: ComponentChildren;
    /** What a person without the scope sees its own of. */
    own?: string;
    children: (data: Data) => ComponentChildren;
  },
) {
  return (
    <div class="screen">
      <PageHead title={props.title} lead={props.lead}>
        {props.actions}
      </PageHead>
      {props.tools}
      <Loaded from={props.from} own={props.own}>
        {props.children}
      </Loaded>
    </div>
  );
}

export function ListScreen<Data extends object, Row>(
  props: HeadProps & {
    /** Of the screen, as in its address. */
    name: string;
    filters?: ComponentChildren;
    from: Readable<Data>;
    rowsOf: (data: Data) => readonly Row[];
    columns: readonly Column<Row>[];
    keyOf: (row: Row) => string;
    /** Where its key is not what the address of a row ends with. */
    hrefOf?: (row: Row) => string;
    /** Where the list has several places to come back to. */
    memory?: string;
    empty: (data: Data) => ComponentChildren;
    below?: ComponentChildren;
    onLeaveTop?: (left: boolean) => void;
    onNearEnd?: () => void;
  },
) {
  const { name, title, keyOf, filters } = props;
  const { hrefOf = (row) => toHref([name, keyOf(row)]) } = props;
  return (
    <div class="screen tall">
      <PageHead title={title} lead={props.lead}>
        {props.actions}
      </PageHead>
      {filters ? <search class="filters">{filters}</search> : <span />}
      <div class="fill">
        <Loaded from={props.from} own={name}>
          {(data) => {
            const rows = props.rowsOf(data);
            if (rows.length === 0) return props.empty(data);
            return (
              <DataTable
                label={title}
                columns={props.columns}
                rows={rows}
                rowKey={keyOf}
                href={hrefOf}
                memory={props.memory ?? name}
                onLeaveTop={props.onLeaveTop}
                onNearEnd={props.onNearEnd}
              />
            );
          }}
        </Loaded>
        {props.below}
      </div>
    </div>
  );
}

/** Reads the next page of a list that goes further back. */
export function OlderButton({ older }: { older: Pick<Older<unknown>, 'hasMore' | 'read'> }) {
  if (!older.hasMore) return null;
  return (
    <div class="buttons">
      <Button onClick={() => void older.read()}>Older</Button>
    </div>
  );
}

/** With the way back to its list; `missing` when there is no such thing, or not for this person. */
export function DetailScreen<Data extends object>(props: {
  name: string;
  title: string;
  from: Readable<Data>;
  missing: ComponentChildren;
  children: (data: Data) => ComponentChildren;
}) {
  const { error, data } = props.from;
  return (
    <div class="screen">
      <p class="crumbs">
        <a href={toHref([props.name])}>{props.title}</a>
      </p>
      {error?.status === 404 && data === undefined ? (
        props.missing
      ) : (
        <Loaded from={props.from}>{props.children}</Loaded>
      )}
    </div>
  );
}
