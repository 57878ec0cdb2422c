import { useId } from "preact/hooks";
import { place, setQuery } from "../router/location.ts";

/** The filters of the audit log, in the page's address. */
export function AuditFilter({ isLive, setLive }: { readonly isLive: boolean; readonly setLive: (live: boolean) => void }) {
  return (
    <>
      <QueryField name="event" label="Event" placeholder="session.start" />
      <QueryField name="user" label="User" placeholder="any user" />
      <QueryField name="from" label="From" type="date" />
      <QueryField name="to" label="To" type="date" />
      <label class="check">
        <input type="checkbox" checked={isLive} onChange={(event) => setLive(event.currentTarget.checked)} />
        Live
      </label>
    </>
  );
}

interface QueryFieldFacts {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly type?: "text" | "date";
}

function QueryField({ name, label, placeholder, type = "text" }: QueryFieldFacts) {
  const id = useId();
  const value = place.value.query.get(name) ?? "";
  const set = (event: { readonly currentTarget: HTMLInputElement }): void => setQuery(name, event.currentTarget.value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {type === "date" ? (
        <input id={id} type="date" value={value} onChange={set} />
      ) : (
        <input id={id} type="text" value={value} placeholder={placeholder} spellcheck={false} autocomplete="off" onChange={set} />
      )}
    </div>
  );
}
