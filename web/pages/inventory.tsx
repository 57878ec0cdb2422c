import { useState } from "preact/hooks";
import type { InventoryPage } from "../../core/api/web/fleet.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { callPages } from "../api/pages.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { ListPage } from "../parts/list-page.tsx";
import { Empty } from "../parts/page.tsx";
import { StateText, type Tone } from "../parts/state-text.tsx";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";

type Instance = InventoryPage["instances"][number];

const refreshMs = 60_000;

/** Every host with its services, its version, its updater, and why it has that version. */
export function Inventory() {
  const loaded = useLoaded("inventory", (signal) =>
    callPages<InventoryPage, Instance>("/inventory", { signal, entries: ({ instances }) => instances }),
  );
  useEvery(refreshMs, loaded.refresh);
  const [shown, show] = useState<Instance>();
  return (
    <>
      <ListPage
        title="Inventory"
        noun="instance"
        loaded={loaded}
        columns={columnsOf(show)}
        keyOf={({ server_id: id, services }) => `${id} ${services.join()}`}
        textOf={(one) =>
          `${one.hostname} ${one.server_id} ${one.services.join(" ")} ${one.version} ${one.upgrader} ${one.status?.reason ?? ""} ${stateOf(one).text}`
        }
        order={{ id: "state", down: true }}
        empty={<Empty title="Nothing has joined yet" />}
      />
      {shown !== undefined && <InstanceDialog instance={shown} close={() => show(undefined)} />}
    </>
  );
}

interface InstanceState {
  readonly tone: Tone;
  readonly text: string;
  /** The worst first. */
  readonly rank: number;
}

const broken = new Set([
  "rolled_back",
  "rollback_failed",
  "signature_wrong",
  "certificate_wrong",
  "package_manager_failed",
  "restart_needed",
  "internal",
]);

/** The most important thing about an instance, in a word or two. */
function stateOf({ connected, version, wanted, status }: Instance): InstanceState {
  if (!connected) return { tone: "bad", text: "offline", rank: 4 };
  if (status?.reason !== undefined && broken.has(status.reason)) return { tone: "bad", text: status.reason.replaceAll("_", " "), rank: 3 };
  if (wanted !== undefined && wanted !== version) return { tone: "warn", text: (status?.reason ?? "other version").replaceAll("_", " "), rank: 2 };
  if (status?.upgrader === "none") return { tone: "idle", text: "no updater", rank: 1 };
  return { tone: "good", text: "up to date", rank: 0 };
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
      by: (one) => stateOf(one).rank,
      cell: (one) => <StateText tone={stateOf(one).tone}>{stateOf(one).text}</StateText>,
    },
    { id: "services", title: "Services", by: ({ services }) => services.join(), wide: true, cell: ({ services }) => services.join(", ") },
    { id: "version", title: "Version", by: ({ version }) => version, wide: true, share: 1, cell: ({ version }) => version },
    { id: "wanted", title: "Wanted", by: ({ wanted = "" }) => wanted, wide: true, share: 1, cell: ({ wanted }) => wanted ?? "" },
    { id: "updater", title: "Updater", by: ({ upgrader }) => upgrader, wide: true, share: 1, cell: ({ upgrader }) => upgrader },
  ];
}

function InstanceDialog({ instance, close }: { readonly instance: Instance; readonly close: () => void }) {
  const { server_id: id, hostname, services, version, wanted, upgrader, since, status, meaning, refused_names: refused = [] } = instance;
  const { tone, text } = stateOf(instance);
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
          ["Why", meaning],
          ["Detail", status?.detail],
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
