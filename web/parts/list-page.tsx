import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Loaded } from "../api/load.ts";
import { type CodeQuestion, isUnconfirmed } from "../confirm/use-code.tsx";
import { makeSearchable, type Order, searchRows } from "../lists/arrange.ts";
import { place, setQuery } from "../router/location.ts";
import { countText } from "../text/size.ts";
import { Answer, Empty, Page } from "./page.tsx";
import { SearchField } from "./search-field.tsx";
import { FreshRows, SteadyArea, useSteady } from "./steady-list.tsx";
import { type Column, Table } from "./table.tsx";

export interface ListPageFacts<Row> {
  readonly title: string;
  /** One row, in words: `host`. */
  readonly noun: string;
  readonly loaded: Loaded<readonly Row[]>;
  /** For a list that needs a one-time code. */
  readonly question?: CodeQuestion;
  readonly columns: readonly Column<Row>[];
  keyOf(row: Row): string;
  /** The text in which words are searched. */
  textOf(row: Row): string;
  readonly order: Order;
  /** Shown in place of an empty list: what to do first. */
  readonly empty: ComponentChildren;
  /** Beside the title; of the rows that are found, if it is about them. */
  readonly actions?: ComponentChildren | ((found: readonly Row[]) => ComponentChildren);
  /** Between search and table. */
  readonly filters?: ComponentChildren;
  /** Shown in place of a list that could not be loaded. */
  readonly failed?: ComponentChildren;
  /** Below the list. */
  readonly foot?: ComponentChildren;
}

/**
 * A page that is a list: search, count, table. The search stays in the address, so that it can be kept and sent. Rows that are loaded
 * again stay in their places while somebody is at them.
 */
export function ListPage<Row>({
  title,
  noun,
  loaded,
  columns,
  keyOf,
  textOf,
  order,
  empty,
  actions,
  filters,
  failed,
  foot,
  question,
}: ListPageFacts<Row>) {
  const search = place.value.query.get("search") ?? "";
  const steady = useSteady(loaded, keyOf);
  const { rows } = steady;
  // The text of a row does not change.
  const searchable = useMemo(() => makeSearchable(rows ?? [], textOf), [rows]);
  const found = useMemo(() => searchRows(searchable, search), [searchable, search]);
  return (
    <Page title={title} actions={typeof actions === "function" ? actions(found) : actions}>
      <SteadyArea hold={steady.hold}>
        <div class="tools">
          <SearchField label={`Search ${noun}s`} value={search} set={(value) => setQuery("search", value)} />
          {filters}
          <span class="quiet count" role="status">
            {rows !== undefined && countOf({ found: found.length, all: rows.length, noun })}
          </span>
          <FreshRows of={steady} />
        </div>
        <Answer of={{ ...loaded, value: rows }} question={question}>
          {(all) => {
            if (all.length === 0) return empty;
            if (found.length === 0) return <NothingFound noun={noun} search={search} />;
            return <Table caption={title} columns={columns} rows={found} keyOf={keyOf} order={order} nowOf={steady.nowOf} />;
          }}
        </Answer>
      </SteadyArea>
      {rows === undefined ? loaded.error !== undefined && !isUnconfirmed(loaded.error) && failed : foot}
      {question?.dialog}
    </Page>
  );
}

function countOf({ found, all, noun }: { readonly found: number; readonly all: number; readonly noun: string }): string {
  return found === all ? countText(all, noun) : `${found.toLocaleString("en")} of ${countText(all, noun)}`;
}

function NothingFound({ noun, search }: { readonly noun: string; readonly search: string }) {
  return (
    <Empty title={`No ${noun} matches “${search}”`}>
      <button type="button" onClick={() => setQuery("search", "")}>
        Show all
      </button>
    </Empty>
  );
}
