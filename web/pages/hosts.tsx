import { useState } from "preact/hooks";
import type { HostPage, ListedHost } from "../../core/api/web/hosts.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { callPages } from "../api/pages.ts";
import { can, person } from "../api/session.ts";
import { labelsText } from "../lists/arrange.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { CutNote } from "../parts/cut-note.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { formText } from "../parts/form-text.ts";
import { Labels } from "../parts/labels.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import { StateText } from "../parts/state-text.tsx";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { place, setQuery } from "../router/location.ts";
import { TerminalForm } from "../terminal/terminal-form.tsx";
import { shellWord } from "../text/size.ts";
import { QueryFilter } from "./query-filter.tsx";

/** Interval at which the list is fetched again, ms. */
const refreshMs = 30_000;
/** Where the last login is kept in the browser. */
const loginKey = "terminal-login";

/** The hosts that the user may reach, or all of them for those who may list them. */
export function Hosts() {
  const query = place.value.query.get("query") ?? "";
  const loaded = useLoaded(query, (signal) => callPages<HostPage, ListedHost>("/hosts", { query: { query }, signal, entries: ({ hosts }) => hosts }));
  useEvery(refreshMs, loaded.refresh);
  const rows = loaded.value?.entries;
  const [shown, show] = useState<ListedHost>();
  return (
    <>
      <ListPage
        title="Hosts"
        noun="host"
        loaded={{ ...loaded, value: rows }}
        columns={columnsOf(show)}
        keyOf={({ id }) => id}
        textOf={({ name, id, labels, addr = "", state }) => `${name} ${id} ${labelsText(labels)} ${addr} ${state}`}
        order={{ id: "name", down: false }}
        filters={<QueryFilter example={'labels["env"] == "prod"'} />}
        empty={query === "" ? <NoHosts /> : <Empty title="No host matches the filter" />}
        foot={loaded.value?.isCut === true && <CutNote count={loaded.value.entries.length} noun="host" more="filter them to find others" />}
      />
      {shown !== undefined && <HostDialog host={rows?.find(({ id }) => id === shown.id) ?? shown} close={() => show(undefined)} />}
    </>
  );
}

function columnsOf(show: (host: ListedHost) => void): readonly Column<ListedHost>[] {
  return [
    {
      id: "name",
      title: "Name",
      by: ({ name }) => name,
      share: 3,
      cell: (host) => (
        <button type="button" class="link" onClick={() => show(host)}>
          {host.name}
        </button>
      ),
    },
    { id: "state", title: "State", by: ({ state }) => state, cell: (host) => <HostState host={host} /> },
    {
      id: "labels",
      title: "Labels",
      wide: true,
      share: 4,
      cell: ({ labels }) => <Labels labels={labels} choose={(label) => setQuery("search", label)} />,
    },
    {
      id: "version",
      title: "Version",
      by: ({ version }) => version,
      wide: true,
      share: 1,
      cell: ({ version }) => (version === "" ? <span class="quiet">no agent</span> : <span title={version}>{version}</span>),
    },
  ];
}

function HostState({ host: { state } }: { readonly host: ListedHost }) {
  if (state === "connected") return <StateText tone="good">connected</StateText>;
  return state === "offline" ? <StateText tone="bad">offline</StateText> : <StateText tone="idle">no agent</StateText>;
}

function HostDialog({ host, close }: { readonly host: ListedHost; readonly close: () => void }) {
  const [login, setLogin] = useState(() => localStorage.getItem(loginKey) ?? "");
  return (
    <Dialog title={host.name} close={close}>
      <Facts
        of={[
          ["State", <HostState key="state" host={host} />],
          ["Since", host.since === undefined ? undefined : <TimeText key="since" at={host.since} />],
          ["Id", <code key="id">{host.id}</code>],
          ["Address", host.addr],
          ["Version", host.version === "" ? undefined : host.version],
          ["Labels", <Labels key="labels" labels={host.labels} />],
        ]}
      />
      <h3>Open a shell</h3>
      {host.state === "offline" ? (
        <p role="status">This host is offline. A shell can be opened once its agent is connected again.</p>
      ) : (
        <>
          <ShellForm host={host} login={login} change={setLogin} />
          <CommandLine line={`tsh ssh --proxy=${person.value?.proxy ?? ""} ${login === "" ? "LOGIN" : shellWord(login)}@${shellWord(host.name)}`} />
        </>
      )}
    </Dialog>
  );
}

interface ShellFormFacts {
  readonly host: ListedHost;
  readonly login: string;
  readonly change: (login: string) => void;
}

function ShellForm({ host, login, change }: ShellFormFacts) {
  return (
    <TerminalForm submitted={(form) => localStorage.setItem(loginKey, formText(form, "login"))}>
      <input type="hidden" name="node" value={host.id} />
      <label>
        Login
        <input
          name="login"
          required
          maxLength={64}
          value={login}
          onInput={(event) => change(event.currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
          autocapitalize="none"
        />
      </label>
      <button type="submit" class="primary">
        Open in the browser
      </button>
    </TerminalForm>
  );
}

function NoHosts() {
  if (can("token", "create"))
    return (
      <Empty title="No host has joined yet">
        <p>
          Make a <a href="/web/tokens">join token</a> and run its install line on the first host.
        </p>
      </Empty>
    );
  return (
    <Empty title="You do not have access to any host yet">
      <p>
        An administrator gives access with a role: its <code>node_labels</code> must match the labels of the hosts.
      </p>
    </Empty>
  );
}
