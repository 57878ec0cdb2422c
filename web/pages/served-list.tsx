import type { ComponentChildren, ComponentType } from "preact";
import { useState } from "preact/hooks";
import type { ListedApp, ListedCluster, ListedDatabase } from "../../core/api/web/served.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { can } from "../api/session.ts";
import { labelsText } from "../lists/arrange.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Facts, type NamedFact } from "../parts/facts.tsx";
import { Labels } from "../parts/labels.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import { StateText } from "../parts/state-text.tsx";
import type { Column } from "../parts/table.tsx";
import { setQuery } from "../router/location.ts";

type Served = ListedApp | ListedCluster | ListedDatabase;

/** How the resources that agents offer of one kind are shown. */
export interface ServedKind<Row extends Served> {
  /** The resource with which admins add one. */
  readonly resource: "app" | "db" | "kube_cluster";
  /** The condition of roles for it. */
  readonly labels: "app_labels" | "db_labels" | "kubernetes_labels";
  readonly title: string;
  readonly noun: string;
  load(signal: AbortSignal): Promise<readonly Row[]>;
  /** What kind of application or database it is; left out: there is only one kind. */
  readonly type?: { readonly title: string; of(row: Row): string };
  /** Shown in the dialog of one, before its health and before its labels. */
  readonly facts: (row: Row) => { readonly first: readonly NamedFact[]; readonly last: readonly NamedFact[] };
  /** The last column; `show` opens the dialog. */
  readonly end?: { readonly title: string; readonly cell: ComponentType<{ readonly row: Row; readonly show: () => void }> };
  /** How to connect, at the foot of the dialog. */
  readonly connect: ComponentType<{ readonly row: Row }>;
  /** Buttons of the page. */
  readonly actions?: ComponentChildren;
  /** What an admin does first. */
  readonly first: ComponentChildren;
}

const refreshMs = 30_000;

/** The resources of one kind that the user may reach, with a dialog for each. */
export function ServedList<Row extends Served>({ of }: { readonly of: ServedKind<Row> }) {
  const { resource, labels, title, noun, load, type, actions, first } = of;
  const loaded = useLoaded(resource, load);
  useEvery(refreshMs, loaded.refresh);
  const [shown, show] = useState<Row>();
  return (
    <>
      <ListPage
        title={title}
        noun={noun}
        loaded={loaded}
        columns={columnsOf(of, show)}
        keyOf={({ name }) => name}
        textOf={(row) => [row.name, labelsText(row.labels), type?.of(row), "host" in row ? row.host : ""].join(" ")}
        order={{ id: "name", down: false }}
        actions={actions}
        empty={<NothingOffered resource={resource} labels={labels} noun={noun} first={first} />}
      />
      {shown !== undefined && <ServedDialog of={of} row={shown} close={() => show(undefined)} />}
    </>
  );
}

function columnsOf<Row extends Served>({ type, end }: ServedKind<Row>, show: (row: Row) => void): readonly Column<Row>[] {
  const name: Column<Row> = {
    id: "name",
    title: "Name",
    by: (row) => row.name,
    share: 3,
    cell: (row) => (
      <button type="button" class="link" onClick={() => show(row)}>
        {row.name}
      </button>
    ),
  };
  const others: readonly Column<Row>[] = [
    ...(type === undefined ? [] : [{ id: "type", title: type.title, by: type.of, wide: end !== undefined, cell: type.of }]),
    { id: "health", title: "Health", by: ({ health }) => health, wide: true, cell: ({ health }) => <HealthText health={health} /> },
    {
      id: "labels",
      title: "Labels",
      wide: true,
      share: 4,
      cell: ({ labels }) => <Labels labels={labels} choose={(label) => setQuery("search", label)} />,
    },
  ];
  if (end === undefined) return [name, ...others];
  return [name, ...others, { id: "end", title: end.title, cell: (row) => <end.cell row={row} show={() => show(row)} /> }];
}

interface ServedDialogFacts<Row extends Served> {
  readonly of: ServedKind<Row>;
  readonly row: Row;
  readonly close: () => void;
}

function ServedDialog<Row extends Served>({ of: { type, facts, connect: Connect }, row, close }: ServedDialogFacts<Row>) {
  const { first, last } = facts(row);
  return (
    <Dialog title={row.name} close={close}>
      <Facts
        of={[
          ...(type === undefined ? [] : [[type.title, type.of(row)] as const]),
          ...first,
          ["Health", <HealthText key="health" health={row.health} why={row.health_error} />],
          ["Offered by", row.hosts.join(", ")],
          ...last,
          ["Labels", <Labels key="labels" labels={row.labels} />],
        ]}
      />
      <Connect row={row} />
    </Dialog>
  );
}

/** Whether a resource answers the checks of its agents. */
function HealthText({ health, why }: { readonly health: Served["health"]; readonly why?: string | undefined }) {
  const tone = health === "healthy" ? "good" : health === "unhealthy" ? "bad" : "idle";
  return <StateText tone={tone}>{why === undefined ? health : `${health}: ${why}`}</StateText>;
}

function NothingOffered({ resource, labels, noun, first }: Pick<ServedKind<Served>, "resource" | "labels" | "noun" | "first">) {
  if (can(resource, "create") || can("token", "create")) {
    return (
      <Empty title={`No ${noun} is offered yet`}>
        <p>{first}</p>
      </Empty>
    );
  }
  return (
    <Empty title={`You do not have access to any ${noun} yet`}>
      <p>
        An administrator gives access with a role: its <code>{labels}</code> must match the labels of the {noun}s.
      </p>
    </Empty>
  );
}
