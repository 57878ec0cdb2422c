import type { UpgradePlan } from "../../core/resources/upgrade-plan.ts";
import { useEvery, useLoaded } from "../api/load.ts";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { formText } from "../parts/form-text.ts";
import { Answer, Empty, Page } from "../parts/page.tsx";
import { place, setQuery } from "../router/location.ts";
import { ChannelCard } from "./channel-card.tsx";
import { FreezeForm } from "./freeze-form.tsx";
import { HostPlans } from "./host-plans.tsx";
import { OnlyDocument } from "./only-document.tsx";
import { VersionPicture } from "./version-picture.tsx";
import { WindowForm } from "./window-form.tsx";
import { Windows } from "./windows.tsx";

const refreshMs = 15_000;

/** The versions of the fleet, the progress of the roll-out, and why each host waits; also as if another version were wanted. */
export function Updates() {
  const version = place.value.query.get("version") ?? "";
  const loaded = useLoaded(version, (signal) => call<UpgradePlan>("/upgrades/plan", { query: { version }, signal }));
  useEvery(refreshMs, loaded.refresh);
  return (
    <Page title="Updates" actions={<Settings saved={loaded.reload} />}>
      <PlanFor version={version} />
      <Answer of={loaded.isCurrent ? loaded : { ...loaded, value: undefined }}>
        {(plan) => <Plan plan={plan} asked={loaded.asked} reload={loaded.reload} />}
      </Answer>
    </Page>
  );
}

/** What decides when hosts take a new version, and in which order. */
function Settings({ saved }: { readonly saved: () => void }) {
  return (
    <>
      <OnlyDocument
        kind="cluster_maintenance_config"
        name="cluster-maintenance-config"
        title="Maintenance window"
        example={
          "kind: cluster_maintenance_config\nversion: v1\nmetadata:\n  name: cluster-maintenance-config\nspec:\n  agent_upgrades:\n    utc_start_hour: 3\n    weekdays: [Tue, Thu]\n"
        }
        beside={WindowForm}
        saved={saved}
      />
      <OnlyDocument
        kind="upgrade_rollout"
        name="default"
        title="Roll-out"
        example={
          "kind: upgrade_rollout\nversion: v1\nmetadata:\n  name: default\nspec:\n  groups:\n    - name: staging\n      labels: {env: staging}\n      canaries: 2\n    - name: prod\n      labels: {env: prod}\n      wait: 1d\n"
        }
        beside={FreezeForm}
        saved={saved}
      />
    </>
  );
}

function PlanFor({ version }: { readonly version: string }) {
  return (
    <form
      class="tools"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery("version", formText(event.currentTarget, "version").trim());
      }}
    >
      <label class="field wide">
        Show the plan for another version
        <input name="version" defaultValue={version} placeholder="1.2.3" maxLength={64} spellcheck={false} />
      </label>
      <button type="submit">Plan</button>
      {version !== "" && (
        <button type="button" onClick={() => setQuery("version", "")}>
          Show what is wanted now
        </button>
      )}
    </form>
  );
}

interface PlanFacts {
  readonly plan: UpgradePlan;
  /** What the plan answers. */
  readonly asked: string;
  readonly reload: () => void;
}

function Plan({ plan, asked, reload }: PlanFacts) {
  const { hosts = [], channels, warnings = [], window, windows = [], freezes = [] } = plan;
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="problem">
          {warning}
        </p>
      ))}
      {hosts.length > 0 && <VersionPicture versions={hosts.map(({ current }) => current)} wanted={channels.map(({ version: one }) => one)} />}
      {channels.length === 0 && (
        <Empty title="No channel names a version">
          <p>
            Set one under <code>automatic_upgrades_channels</code> in the configuration of a proxy.
          </p>
        </Empty>
      )}
      <div class="cards">
        {channels.map((channel) => (
          <ChannelCard key={channel.channel} channel={channel} mayChange={plan.staged && can("upgrade_rollout", "update")} reload={reload} />
        ))}
      </div>
      {window === undefined ? (
        <p>No maintenance window is set: hosts install only critical versions.</p>
      ) : (
        <Windows windows={windows} freezes={freezes} />
      )}
      {hosts.length > 0 && <HostPlans hosts={hosts} asked={asked} />}
    </>
  );
}
