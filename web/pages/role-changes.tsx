import type { RolePreview } from "../../core/api/web/access.ts";
import { StateText } from "../parts/state-text.tsx";
import { changeText } from "../text/change-text.ts";
import { countText } from "../text/size.ts";

/** The gains and losses of a role's users. */
export function RoleChanges({ preview: { users, resources, is_partial: isPartial, changes } }: { readonly preview: RolePreview }) {
  return (
    <section aria-live="polite">
      <h3>Who could then do what</h3>
      <p class="quiet">
        {users === 0
          ? "Nobody has this role yet. Name users above to see what they would get."
          : `Compares ${countText(users, "user")} at ${countText(resources, "resource")}. Locks are not considered.`}
        {isPartial && " There are more, which are not compared or shown here."}
      </p>
      {users > 0 && changes.length === 0 && <p>Nobody gains or loses anything.</p>}
      <ChangeList changes={changes} />
    </section>
  );
}

/** What each user gains and loses, a line each. */
export function ChangeList({ changes }: Pick<RolePreview, "changes">) {
  return (
    <ul class="changes">
      {changes.map((one) => (
        <li key={[one.user, one.kind, one.name, one.change, ...one.as].join("\n")}>
          {one.user} <StateText tone={one.change === "gained" ? "good" : "warn"}>{one.change === "gained" ? "gains" : "loses"}</StateText>{" "}
          {changeText(one)}
        </li>
      ))}
    </ul>
  );
}
