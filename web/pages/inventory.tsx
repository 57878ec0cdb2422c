import { useState } from "preact/hooks";
import type { InventoryPage } from "../../core/api/web/fleet.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { callPages } from "../api/pages.ts";
import { CutNote } from "../parts/cut-note.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import { StateText } from "../parts/state-text.tsx";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { instanceState } from "../text/instance-state.ts";

type Instance = InventoryPage["instances"][number];

const refreshMs = 60_000;
const keyOf = ({ server_id: id, services }: Instance): string => `${id} ${services.join()}`;

/** Every host with its services, its version, its updater, and why it has that version. */
export function Inventory() {
  const loaded = useLoaded("inventory", (signal) =>
    callPages<InventoryPage, Instance>("/inventory", { signal, entries: ({ instances }) => instances }),
  );
  useEvery(refreshMs, loaded.refresh);
  const rows = loaded.value?.entries;
  const [shown, show] = useState<Instance>();
  const current = shown && (rows?.find((row) => keyOf(row) === keyOf(shown)) ?? shown);
  return (
    <>
      <ListPage
        title="Inventory"
        noun="instance"
        loaded={{ ...loaded, value: rows }}
        columns={columnsOf(show)}
        keyOf={keyOf}
        textOf={(one) =>
          `${one.hostname} ${one.server_id} ${one.services.join(" ")} ${one.version} ${one.upgrader} ${one.group ?? ""} ${one.status?.reason ?? ""} ${instanceState(one).text}`
        }
        order={{ id: "state", down: true }}
        empty={<Empty title="Nothing has joined yet" />}
        foot={loaded.value?.isCut === true && <CutNote count={loaded.value.entries.length} noun="instance" more="tctl inventory ls lists all" />}
      />
      {current !== undefined && <InstanceDialog instance={current} close={() => show(undefined)} />}
    </>
  );
}

function columnsOf(show: (instance: Instance) => void): readonly Column<Instance>[] {
  return [
    {
      id: "name",
      title: "Name",
      by: ({ hostname }) => hostname,
      share: 3,
      cell: (instance) => (
        <button type="button" class="link" onClick={() => show(instance)}>
          {instance.hostname}
        </button>
      ),
    },
    {
      id: "state",
      title: "State",
      by: (one) => instanceState(one).rank,
      share: 2.75,
      cell: (one) => <StateText tone={instanceState(one).tone}>{instanceState(one).text}</StateText>,
    },
    { id: "services", title: "Services", by: ({ services }) => services.join(), wide: true, share: 1.5, cell: ({ services }) => services.join(", ") },
    {
      id: "version",
      title: "Version",
      by: ({ version }) => version,
      wide: true,
      share: 1.25,
      cell: ({ version }) => <span title={version}>{version}</span>,
    },
    {
      id: "wanted",
      title: "Wanted",
      by: ({ wanted = "" }) => wanted,
      wide: true,
      share: 1.25,
      cell: ({ wanted }) => <span title={wanted}>{wanted}</span>,
    },
    { id: "group", title: "Group", by: ({ group = "" }) => group, wide: true, share: 1, cell: ({ group }) => <span title={group}>{group}</span> },
    { id: "updater", title: "Updater", by: ({ upgrader }) => upgrader, wide: true, share: 1.25, cell: ({ upgrader }) => upgrader },
  ];
}

function InstanceDialog({ instance, close }: { readonly instance: Instance; readonly close: () => void }) {
  const {
    server_id: id,
    hostname,
    services,
    version,
    wanted,
    upgrader,
    since,
    group,
    status,
    meaning,
    remedy,
    refused_names: refused = [],
  } = instance;
  const { tone, text } = instanceState(instance);
  return (
    <Dialog title={hostname} close={close}>
      <Facts
        of={[
          [
            "State",
            <StateText key="state" tone={tone}>
              {text}
            </StateText>,
          ],
          ["Since", since === undefined ? undefined : <TimeText key="since" at={since} />],
          ["Services", services.join(", ")],
          ["Version", version],
          ["Wanted", wanted],
          ["Updater", status?.upgrader_version === undefined ? upgrader : `${upgrader} ${status.upgrader_version}`],
          ["Group", group],
          ["Why", meaning],
          ["Detail", status?.detail],
          ["What to do", remedy === undefined ? undefined : <CodeText key="remedy" text={remedy} />],
          ["Last run", status?.at === undefined ? undefined : <TimeText key="at" at={status.at} ago />],
          ["Schedule", status?.schedule_error],
          ["Open sessions", status === undefined ? undefined : String(status.sessions)],
          ["Refused names", refused.length === 0 ? undefined : refused.join("; ")],
          ["Id", <code key="id">{id}</code>],
        ]}
      />
    </Dialog>
  );
}

/** A text in which words between backticks are commands, names and paths. */
function CodeText({ text }: { readonly text: string }) {
  return <>{text.split("`").map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>))}</>;
}
