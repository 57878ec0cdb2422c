import { useId } from "preact/hooks";
import type { WindowPreview } from "../../core/api/web/fleet.ts";
import type { Maintenance } from "../../core/resources/maintenance.ts";
import { can } from "../api/session.ts";
import { Failure } from "../parts/failure.tsx";
import { chosenDays, weekdays, withDays, withHour } from "../text/window-fields.ts";
import type { BesideFacts } from "./document-editor.tsx";
import { useBeside } from "./use-beside.ts";
import { WindowTable } from "./windows.tsx";

/** The maintenance window in fields beside the YAML, and the windows that it would give, by the rules of the auth service, while the reader types. */
export function WindowForm(facts: BesideFacts) {
  const { document, isRead, preview, failure, edit } = useBeside<Maintenance, WindowPreview>(facts, {
    path: "/maintenance-preview",
    documentOf: ({ config }) => config,
    bodyOf: (config) => ({ config }),
  });
  return (
    <div class="fields-beside stacked">
      <div>
        <Failure text={failure} />
        {document !== undefined && <Fields config={document} isRead={isRead} edit={edit} />}
      </div>
      <NextWindows windows={preview?.windows} />
    </div>
  );
}

/** The last windows that could be computed. */
export function NextWindows({ windows }: { readonly windows: WindowPreview["windows"] | undefined }) {
  const id = useId();
  return (
    <section class="window-preview outcome-beside" aria-live="polite" aria-labelledby={id}>
      <h3 id={id}>The next windows, once this is saved</h3>
      {windows !== undefined && <WindowTable windows={windows} />}
    </section>
  );
}

const hours = Array.from({ length: 24 }, (_, hour) => hour);

interface FieldsFacts {
  readonly config: Maintenance;
  readonly isRead: boolean;
  readonly edit: (config: Maintenance) => void;
}

function Fields({ config, isRead, edit }: FieldsFacts) {
  const days = chosenDays(config);
  const { utc_start_hour: hour } = config.spec.agent_upgrades;
  const choose = (box: HTMLInputElement, day: (typeof weekdays)[number]): void => {
    const others = days.filter((one) => one !== day);
    // There is always a day; the box shows it.
    if (!box.checked && others.length === 0) box.checked = true;
    else edit(withDays(config, box.checked ? [...others, day] : others));
  };
  return (
    <fieldset disabled={!isRead || (!can("cluster_maintenance_config", "update") && !can("cluster_maintenance_config", "create"))}>
      <legend class="quiet">A window lasts one hour. Hours and days are those of UTC.</legend>
      <label class="field">
        Begins at
        <select value={String(hour)} onChange={(event) => edit(withHour(config, Number(event.currentTarget.value)))}>
          {hours.map((one) => (
            <option key={one} value={String(one)}>
              {`${String(one).padStart(2, "0")}:00 UTC`}
            </option>
          ))}
        </select>
      </label>
      <fieldset>
        <legend class="quiet">On</legend>
        <div class="days">
          {weekdays.map((day) => (
            <label key={day} class="check">
              <input type="checkbox" checked={days.includes(day)} onChange={(event) => choose(event.currentTarget, day)} />
              {day}
            </label>
          ))}
        </div>
      </fieldset>
    </fieldset>
  );
}
