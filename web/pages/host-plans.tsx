import { useState } from "preact/hooks";
import type { HostPlan } from "../../core/resources/upgrade-plan.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { StateText, type Tone } from "../parts/state-text.tsx";
import { FreshRows, SteadyArea, useSteady } from "../parts/steady-list.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";

const keyOf = ({ host_id: id, channel }: HostPlan): string => `${id} ${channel}`;

/** What each host will do, when and why; `asked`: what the plan answers. */
export function HostPlans({ hosts, asked }: { readonly hosts: readonly HostPlan[]; readonly asked: string }) {
  const [onlyWaiting, setOnlyWaiting] = useState(false);
  const [shown, show] = useState<HostPlan>();
  const steady = useSteady({ value: hosts, asked }, keyOf);
  const { rows = [] } = steady;
  const current = shown && (hosts.find((host) => keyOf(host) === keyOf(shown)) ?? shown);
  return (
    <section>
      <h2>Hosts</h2>
      <SteadyArea hold={steady.hold}>
        <div class="tools">
          <label class="check">
            <input type="checkbox" checked={onlyWaiting} onChange={(event) => setOnlyWaiting(event.currentTarget.checked)} />
            Only hosts that stay as they are
          </label>
          <FreshRows of={steady} />
        </div>
        <Table
          caption="What each host will do, and why"
          columns={columnsOf(show)}
          rows={onlyWaiting ? rows.filter(({ verdict }) => verdict === "stays") : rows}
          keyOf={keyOf}
          order={{ id: "verdict", down: true }}
          nowOf={steady.nowOf}
        />
      </SteadyArea>
      {current !== undefined && <HostPlanDialog host={current} close={() => show(undefined)} />}
    </section>
  );
}

function columnsOf(show: (host: HostPlan) => void): readonly Column<HostPlan>[] {
  return [
    {
      id: "host",
      title: "Host",
      by: ({ hostname }) => hostname,
      cell: (host) => (
        <button type="button" class="link" onClick={() => show(host)}>
          {host.hostname}
        </button>
      ),
    },
    { id: "verdict", title: "Verdict", by: ({ verdict }) => verdict, share: 1, cell: verdictOf },
    { id: "from", title: "Has", by: ({ current }) => current, wide: true, share: 1, cell: ({ current }) => current },
    { id: "to", title: "Wanted", by: ({ target }) => target, wide: true, share: 1, cell: ({ target }) => target },
    { id: "group", title: "Group", by: ({ group = "" }) => group, wide: true, share: 1, cell: groupOf },
    { id: "when", title: "When", by: ({ when = "" }) => when, wide: true, cell: ({ when }) => when !== undefined && <TimeText at={when} ago /> },
    { id: "why", title: "Why", wide: true, share: 4, cell: ({ why }) => <span title={why}>{why}</span> },
  ];
}

const tones: Readonly<Record<HostPlan["verdict"], Tone>> = { done: "good", goes: "wait", stays: "warn" };

function verdictOf({ verdict }: HostPlan) {
  return <StateText tone={tones[verdict]}>{verdict}</StateText>;
}

function groupOf({ group = "", canary }: HostPlan): string {
  return `${group}${canary ? " (canary)" : ""}`;
}

/** All of a row, which a narrow page does not show. */
function HostPlanDialog({ host, close }: { readonly host: HostPlan; readonly close: () => void }) {
  const { hostname, current, target, channel, when, why, sessions } = host;
  return (
    <Dialog title={hostname} close={close}>
      <Facts
        of={[
          ["Verdict", verdictOf(host)],
          ["Why", why],
          ["When", when === undefined ? undefined : <TimeText key="when" at={when} />],
          ["Has", current],
          ["Wanted", target],
          ["Channel", channel],
          ["Group", host.group === undefined ? undefined : groupOf(host)],
          ["Open sessions", String(sessions)],
        ]}
      />
    </Dialog>
  );
}
