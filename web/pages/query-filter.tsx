import { useId, useState } from "preact/hooks";
import { formText } from "../parts/form-text.ts";
import { place, setQuery } from "../router/location.ts";

/** A filter that the auth service applies: the expression of `tsh ls --query`. */
export function QueryFilter({ example }: { readonly example: string }) {
  const current = place.value.query.get("query") ?? "";
  const [isOpen, setOpen] = useState(current !== "");
  const id = useId();
  if (!isOpen)
    return (
      <button type="button" onClick={() => setOpen(true)}>
        Filter…
      </button>
    );
  return (
    <form
      class="query"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery("query", formText(event.currentTarget, "query"));
      }}
    >
      <label class="hidden" for={id}>
        Filter expression
      </label>
      <input id={id} name="query" class="code" defaultValue={current} placeholder={example} maxLength={1000} spellcheck={false} />
      <button type="submit">Filter</button>
      <button
        type="button"
        class="plain"
        aria-label="Remove the filter"
        onClick={() => {
          setQuery("query", "");
          setOpen(false);
        }}
      >
        ×
      </button>
    </form>
  );
}
