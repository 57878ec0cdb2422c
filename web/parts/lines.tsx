import { useId, useState } from "preact/hooks";
import { linesOf } from "../text/role-fields.ts";

export interface LinesFacts {
  readonly label: string;
  /** Undefined: it can only be changed in the text. */
  readonly value: string | undefined;
  readonly placeholder: string;
  /** Called when the reader leaves the field. Returns what is wrong. */
  readonly change: (lines: string[]) => string | undefined;
}

/** A field of several entries, one in a line. */
export function Lines({ label, value, placeholder, change }: LinesFacts) {
  const id = useId();
  const [wrong, setWrong] = useState<string>();
  return (
    <div class="field lines">
      <label for={id}>{label}</label>
      <textarea
        key={value}
        id={id}
        aria-invalid={wrong !== undefined}
        rows={Math.min(6, Math.max(1, linesOf(value ?? "").length))}
        spellcheck={false}
        disabled={value === undefined}
        placeholder={value === undefined ? "only in the text" : placeholder}
        defaultValue={value ?? ""}
        onChange={(event) => setWrong(change(linesOf(event.currentTarget.value)))}
      />
      {wrong !== undefined && (
        <span class="problem" role="alert">
          {wrong}
        </span>
      )}
    </div>
  );
}
