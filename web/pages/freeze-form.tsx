import { useId } from "preact/hooks";
import type { RolloutPreview } from "../../core/api/web/fleet.ts";
import type { Freeze, UpgradeRollout } from "../../core/resources/upgrade-rollout.ts";
import { can } from "../api/session.ts";
import { Failure } from "../parts/failure.tsx";
import { isDay, withFreezes } from "../text/window-fields.ts";
import type { BesideFacts } from "./document-editor.tsx";
import { useBeside } from "./use-beside.ts";
import { NextWindows } from "./window-form.tsx";

/** The freezes of a roll-out in fields beside the YAML, and the next maintenance windows with them. */
export function FreezeForm(facts: BesideFacts) {
  const windows = can("cluster_maintenance_config", "read");
  const { document, isRead, preview, failure, edit } = useBeside<UpgradeRollout, RolloutPreview>(facts, {
    path: "/rollout-preview",
    documentOf: ({ rollout }) => rollout,
    bodyOf: (rollout) => ({ rollout }),
    more: { windows },
  });
  return (
    <div class="fields-beside stacked">
      <div>
        <Failure text={failure} />
        {document !== undefined && <Freezes rollout={document} isRead={isRead} edit={edit} />}
      </div>
      {windows && <NextWindows windows={preview?.windows} />}
    </div>
  );
}

interface FreezesFacts {
  readonly rollout: UpgradeRollout;
  readonly isRead: boolean;
  readonly edit: (rollout: UpgradeRollout) => void;
}

function Freezes({ rollout, isRead, edit }: FreezesFacts) {
  const { freezes } = rollout.spec;
  const put = (at: number, freeze: Freeze): void => edit(withFreezes(rollout, freezes.with(at, freeze)));
  const add = (): void => {
    const today = new Date().toISOString().slice(0, 10);
    edit(withFreezes(rollout, [...freezes, { from: today, to: today }]));
  };
  return (
    <fieldset disabled={!isRead || (!can("upgrade_rollout", "update") && !can("upgrade_rollout", "create"))}>
      <legend class="quiet">
        During a freeze only critical versions are installed. Days are in UTC and include the last one; to set a time, edit the YAML.
      </legend>
      {freezes.length === 0 && <p>There are no freezes.</p>}
      {freezes.map((freeze, at) => (
        // A freeze has no name; its place is what it is known by.
        <fieldset key={at} class="freeze">
          <legend class="hidden">{`Freeze ${at + 1}`}</legend>
          <Moment label="From" value={freeze.from} set={(from) => put(at, { ...freeze, from })} />
          <Moment label="To" value={freeze.to} set={(to) => put(at, { ...freeze, to })} />
          <label class="field reason">
            Reason
            <input
              value={freeze.reason ?? ""}
              maxLength={200}
              placeholder="end of the year"
              onInput={(event) => put(at, { ...freeze, reason: event.currentTarget.value })}
            />
          </label>
          <button type="button" aria-label={`Remove freeze ${at + 1}`} onClick={() => edit(withFreezes(rollout, freezes.toSpliced(at, 1)))}>
            Remove
          </button>
        </fieldset>
      ))}
      <p>
        <button type="button" onClick={add}>
          Add a freeze
        </button>
      </p>
    </fieldset>
  );
}

/** A day, or a moment that only its text can say. */
function Moment({ label, value, set }: { readonly label: string; readonly value: string; readonly set: (value: string) => void }) {
  const put = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void => {
    // A date is empty while it is typed.
    if (currentTarget.value !== "") set(currentTarget.value);
  };
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isDay(value) ? <input id={id} type="date" value={value} required onInput={put} /> : <input id={id} value={value} required onInput={put} />}
    </div>
  );
}
