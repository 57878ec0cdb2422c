import { useId } from "preact/hooks";

export interface SearchFieldFacts {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  set(value: string): void;
}

/** A search that works while the reader types; Escape empties it. */
export function SearchField({ label, value, placeholder = label, set }: SearchFieldFacts) {
  const id = useId();
  return (
    <div class="search">
      <label class="hidden" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        value={value}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => set(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && set("")}
      />
    </div>
  );
}
