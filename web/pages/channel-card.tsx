import { useState } from "preact/hooks";
import type { RolloutChange } from "../../core/api/web/fleet.ts";
import type { ChannelPlan, GroupPlan } from "../../core/resources/upgrade-plan.ts";
import { call } from "../api/request.ts";
import { AskFirst } from "../parts/ask-first.tsx";
import { notify } from "../parts/notice.tsx";
import { StateText } from "../parts/state-text.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { countText } from "../text/size.ts";

export interface ChannelCardFacts {
  readonly channel: ChannelPlan;
  readonly mayChange: boolean;
  readonly reload: () => void;
}

/** The roll-out of one channel: its version, its groups in order, and the ways to change it. */
export function ChannelCard({ channel: plan, mayChange, reload }: ChannelCardFacts) {
  const { channel, version, critical, back, groups, failed } = plan;
  return (
    <section class="card" aria-label={`Channel ${channel}`}>
      <h2>
        {channel}: {version}
        {critical && <span class="tag bad">critical</span>}
        {back && <span class="tag">back to an earlier version</span>}
      </h2>
      <ChannelState plan={plan} />
      <ol class="groups">
        {groups.map((group) => (
          <Group key={group.name} group={group} isNow={plan.group === group.name && plan.phase !== "done"} />
        ))}
      </ol>
      {failed.length > 0 && (
        <details>
          <summary>{countText(failed.length, "host")} failed</summary>
          <ul>
            {failed.map(({ host_id: id, hostname, why }) => (
              <li key={id}>
                {hostname}: {why}
              </li>
            ))}
          </ul>
        </details>
      )}
      {mayChange && groups.length > 0 && <Changes plan={plan} reload={reload} />}
    </section>
  );
}

function ChannelState({ plan: { phase, paused, stopped, frozen, until, started } }: { readonly plan: ChannelPlan }) {
  if (stopped !== undefined) return <StateText tone="bad">stopped: {stopped.why}</StateText>;
  if (paused !== undefined) return <StateText tone="warn">paused by {paused.by}</StateText>;
  if (frozen !== undefined)
    return (
      <StateText tone="warn">
        frozen until <TimeText at={frozen.until} /> {frozen.reason !== undefined && `: ${frozen.reason}`}
      </StateText>
    );
  if (phase === "done") return <StateText tone="good">done</StateText>;
  if (phase === undefined) return <StateText tone="idle">all hosts at once, in their maintenance window</StateText>;
  return (
    <StateText tone="idle">
      {phase === "canaries" ? "canaries upgrade" : phase === "group" ? "the group upgrades" : "waiting"}
      {phase === "waiting" && until !== undefined ? (
        <>
          {" "}
          until <TimeText at={until} />
        </>
      ) : (
        started !== undefined && (
          <>
            , begun <TimeText at={started} ago />
          </>
        )
      )}
    </StateText>
  );
}

function Group({ group: { name, hosts, done, left_out: left, canaries }, isNow }: { readonly group: GroupPlan; readonly isNow: boolean }) {
  return (
    <li aria-current={isNow ? "step" : undefined}>
      <span class="group-name">{name}</span>
      <progress max={Math.max(1, hosts - left)} value={done} aria-label={`${name}: ${done} of ${hosts}`} />
      <span class="quiet">
        {done} of {countText(hosts, "host")}
        {left > 0 && `, ${left} left out`}
        {canaries.length > 0 && `, ${countText(canaries.length, "canary", "canaries")}`}
      </span>
    </li>
  );
}

type Action = RolloutChange["action"];

const texts: Readonly<Record<Action, string>> = {
  pause: "No further host gets the version until the roll-out is resumed. Hosts that install it now finish.",
  resume: "The roll-out goes on where it was paused or stopped.",
  promote: "The next group gets the version in its next maintenance window, without further waiting.",
};

function Changes({
  plan: { channel, paused, stopped, phase },
  reload,
}: Omit<ChannelCardFacts, "mayChange" | "channel"> & { readonly plan: ChannelPlan }) {
  const [asked, ask] = useState<Action>();
  const actions: readonly Action[] = phase === "done" ? [] : paused !== undefined || stopped !== undefined ? ["resume"] : ["pause", "promote"];
  return (
    <p class="buttons">
      {actions.map((action) => (
        <button key={action} type="button" onClick={() => ask(action)}>
          {verbOf(action)}
        </button>
      ))}
      {asked !== undefined && (
        <AskFirst
          title={`${verbOf(asked)} the roll-out of ${channel}?`}
          text={texts[asked]}
          verb={verbOf(asked)}
          close={() => ask(undefined)}
          act={async () => {
            await call("/upgrades/rollout", { method: "POST", body: { action: asked, channel } satisfies RolloutChange });
            notify(`The roll-out of ${channel} has been changed.`);
            reload();
          }}
        />
      )}
    </p>
  );
}

function verbOf(action: Action): string {
  return { pause: "Pause", resume: "Resume", promote: "Promote" }[action];
}
