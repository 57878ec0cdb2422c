import { useState } from "preact/hooks";
import type { ListedDatabase } from "../../core/api/web/served.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { can, person } from "../api/session.ts";
import { labelsText } from "../lists/arrange.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { Labels } from "../parts/labels.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";
import { setQuery } from "../router/location.ts";
import { databaseLines } from "../text/database-lines.ts";
import { HealthText } from "./health-text.tsx";

const refreshMs = 30_000;

/** The databases that the user may reach, with the command lines for each. */
export function Databases() {
  const loaded = useLoaded("databases", async (signal) => (await call<{ databases: readonly ListedDatabase[] }>("/databases", { signal })).databases);
  useEvery(refreshMs, loaded.reload);
  const [shown, show] = useState<ListedDatabase>();
  return (
    <>
      <ListPage
        title="Databases"
        noun="database"
        loaded={loaded}
        columns={columnsOf(show)}
        keyOf={({ name }) => name}
        textOf={({ name, labels, protocol }) => `${name} ${protocol} ${labelsText(labels)}`}
        order={{ id: "name", down: false }}
        empty={<NoDatabases />}
      />
      {shown !== undefined && <DatabaseDialog database={shown} close={() => show(undefined)} />}
    </>
  );
}

function columnsOf(show: (database: ListedDatabase) => void): readonly Column<ListedDatabase>[] {
  return [
    {
      id: "name",
      title: "Name",
      by: ({ name }) => name,
      share: 3,
      cell: (database) => (
        <button type="button" class="link" onClick={() => show(database)}>
          {database.name}
        </button>
      ),
    },
    { id: "protocol", title: "Protocol", by: ({ protocol }) => protocol, cell: ({ protocol }) => protocol },
    { id: "health", title: "Health", by: ({ health }) => health, wide: true, cell: ({ health }) => <HealthText health={health} /> },
    {
      id: "labels",
      title: "Labels",
      wide: true,
      share: 4,
      cell: ({ labels }) => <Labels labels={labels} choose={(label) => setQuery("search", label)} />,
    },
  ];
}

function DatabaseDialog({ database, close }: { readonly database: ListedDatabase; readonly close: () => void }) {
  const { name, protocol, labels, health, health_error: why, hosts, accounts } = database;
  const { login, connect, local } = databaseLines(database, person.value?.proxy ?? "", person.value?.user ?? "");
  return (
    <Dialog title={name} close={close}>
      <Facts
        of={[
          ["Protocol", protocol],
          ["Health", <HealthText key="health" health={health} why={why} />],
          ["Offered by", hosts.join(", ")],
          ["Accounts", accounts.length === 0 ? "none: no role of yours names one" : accounts.map((one) => (one === "*" ? "any" : one)).join(", ")],
          ["Labels", <Labels key="labels" labels={labels} />],
        ]}
      />
      <h3>Connect</h3>
      <p>Log in on your computer first, then open the database's own client:</p>
      <CommandLine line={login} />
      <CommandLine line={connect} />
      <p>Or open a local port for any other client:</p>
      <CommandLine line={local} />
    </Dialog>
  );
}

function NoDatabases() {
  if (can("db", "create") || can("token", "create"))
    return (
      <Empty title="No database is offered yet">
        <p>List one under db_service of an agent, or create a db resource that an agent's labels match.</p>
      </Empty>
    );
  return <Empty title="There is not a database that you may reach" />;
}
