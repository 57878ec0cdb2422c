import { useState } from "preact/hooks";
import type { ListedApp } from "../../core/api/web/served.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { labelsText } from "../lists/arrange.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { Labels } from "../parts/labels.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";
import { setQuery } from "../router/location.ts";
import { launchPath } from "../text/launch-path.ts";
import { shellWord } from "../text/size.ts";
import { HealthText } from "./health-text.tsx";

const refreshMs = 30_000;

/** The applications that the user may reach. */
export function Applications() {
  const loaded = useLoaded("apps", async (signal) => (await call<{ apps: readonly ListedApp[] }>("/apps", { signal })).apps);
  useEvery(refreshMs, loaded.reload);
  const [shown, show] = useState<ListedApp>();
  return (
    <>
      <ListPage
        title="Applications"
        noun="application"
        loaded={loaded}
        columns={columnsOf(show)}
        keyOf={({ name }) => name}
        textOf={({ name, labels, host = "", type }) => `${name} ${labelsText(labels)} ${host} ${type}`}
        order={{ id: "name", down: false }}
        empty={<NoApplications />}
      />
      {shown !== undefined && <AppDialog app={shown} close={() => show(undefined)} />}
    </>
  );
}

function columnsOf(show: (app: ListedApp) => void): readonly Column<ListedApp>[] {
  return [
    {
      id: "name",
      title: "Name",
      by: ({ name }) => name,
      share: 3,
      cell: (app) => (
        <button type="button" class="link" onClick={() => show(app)}>
          {app.name}
        </button>
      ),
    },
    { id: "type", title: "Type", by: ({ type }) => type, wide: true, share: 1, cell: ({ type }) => type.toUpperCase() },
    { id: "health", title: "Health", by: ({ health }) => health, wide: true, cell: ({ health }) => <HealthText health={health} /> },
    {
      id: "labels",
      title: "Labels",
      wide: true,
      share: 4,
      cell: ({ labels }) => <Labels labels={labels} choose={(label) => setQuery("search", label)} />,
    },
    { id: "open", title: "Open", cell: (app) => <OpenLink app={app} show={show} /> },
  ];
}

/** An HTTP application opens in a tab of its own; for others there is a command line. */
function OpenLink({ app, show }: { readonly app: ListedApp; readonly show: (app: ListedApp) => void }) {
  if (app.host !== undefined)
    return (
      <a class="button" href={launchPath(app.host)} target="_blank" rel="noopener">
        Open<span class="hidden"> {app.name} in a new tab</span>
      </a>
    );
  return (
    <button type="button" onClick={() => show(app)} aria-label={`How to connect to ${app.name}`}>
      Connect…
    </button>
  );
}

function AppDialog({ app, close }: { readonly app: ListedApp; readonly close: () => void }) {
  const { name, type, host, labels, health, health_error: why, hosts } = app;
  return (
    <Dialog title={name} close={close}>
      <Facts
        of={[
          ["Type", type.toUpperCase()],
          ["Address", host],
          ["Health", <HealthText key="health" health={health} why={why} />],
          ["Offered by", hosts.join(", ")],
          ["Labels", <Labels key="labels" labels={labels} />],
        ]}
      />
      <h3>Connect from the command line</h3>
      <p>A local port that leads to it, as long as the command runs:</p>
      <CommandLine line={`tsh proxy app ${shellWord(name)}`} />
    </Dialog>
  );
}

function NoApplications() {
  if (can("app", "create") || can("token", "create"))
    return (
      <Empty title="No application is offered yet">
        <p>List one under app_service of an agent, or create an app resource that an agent's labels match.</p>
      </Empty>
    );
  return <Empty title="There is not an application that you may open" />;
}
