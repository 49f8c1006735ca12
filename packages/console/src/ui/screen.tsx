// The two shapes that most screens have: a list that fills the page, and one thing of such a list.

import type { ComponentChildren } from 'preact';
import type { Resource } from '../state/resource.ts';
import { toHref } from '../state/router.ts';
import { type Column, DataTable } from './data-table.tsx';
import { Loaded, OwnOnly, PageHead } from './parts.tsx';

export function ListScreen<Data extends object, Row>(props: {
  /** Of the screen, as in its address. */
  name: string;
  title: string;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  filters?: ComponentChildren;
  from: Resource<Data>;
  rowsOf: (data: Data) => readonly Row[];
  columns: readonly Column<Row>[];
  /** What the address of a row ends with. */
  idOf: (row: Row) => string;
  /** Where rows with the same address differ. */
  keyOf?: (row: Row) => string;
  empty: (data: Data) => ComponentChildren;
  onNearEnd?: () => void;
}) {
  const { name, title, idOf } = props;
  return (
    <div class="screen tall">
      <PageHead title={title} lead={props.lead}>
        {props.actions}
      </PageHead>
      {props.filters ? <search class="filters">{props.filters}</search> : <span />}
      <div class="fill">
        <Loaded from={props.from}>
          {(data) => {
            const rows = props.rowsOf(data);
            return (
              <>
                {'scope' in data && data.scope === 'own' && <OwnOnly what={name} />}
                {rows.length === 0 ? (
                  props.empty(data)
                ) : (
                  <DataTable
                    label={title}
                    columns={props.columns}
                    rows={rows}
                    rowKey={props.keyOf ?? idOf}
                    href={(row) => toHref([name, idOf(row)])}
                    memory={name}
                    {...(props.onNearEnd && { onNearEnd: props.onNearEnd })}
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

/** With the way back to its list; `missing` when there is no such thing, or not for this person. */
export function DetailScreen<Data>(props: {
  name: string;
  title: string;
  from: Resource<Data>;
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
