import { useState } from "preact/hooks";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { AskFirst } from "../parts/ask-first.tsx";
import { notify } from "../parts/notice.tsx";

export interface RemoveButtonFacts {
  readonly kind: string;
  readonly noun: string;
  readonly name: string;
  readonly class: string;
  readonly removed: () => void;
}

/** Removes a resource after a question. */
export function RemoveButton({ kind, noun, name, class: look, removed }: RemoveButtonFacts) {
  const [isAsked, ask] = useState(false);
  if (!can(kind, "delete")) return null;
  return (
    <>
      <button type="button" class={look} aria-label={`Remove ${name}`} onClick={() => ask(true)}>
        Remove
      </button>
      {isAsked && (
        <AskFirst
          title={`Remove ${noun} ${name}?`}
          text="This takes effect at once, and cannot be undone."
          verb="Remove"
          close={() => ask(false)}
          act={async () => {
            const { notes } = await call<{ notes: readonly string[] }>(`/resources/${kind}/${encodeURIComponent(name)}`, { method: "DELETE" });
            notify([`${name} has been removed.`, ...notes].join(" "));
            removed();
          }}
        />
      )}
    </>
  );
}
