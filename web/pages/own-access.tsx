import { useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.tsx";
import { formText } from "../parts/form-text.ts";
import { useVerdict, Verdict, VerdictField } from "./verdict.tsx";

/** Whether the user may reach a database under these names, and what each of the user's own roles says. `database`: this one; left out: the user names one. */
export function OwnAccess({ database }: { readonly database?: string }) {
  const { answer, clear, ask } = useVerdict();
  const read = (form: EventTarget | null) => {
    const names = Object.fromEntries(["db_user", "db_name"].map((name) => [name, formText(form, name).trim()]));
    return { ...names, name: database ?? formText(form, "name").trim() };
  };
  return (
    <>
      <form
        class="tools"
        onInput={clear}
        onSubmit={(event) => {
          event.preventDefault();
          void ask("/databases/access", read(event.currentTarget));
        }}
      >
        {database === undefined && <VerdictField name="name" label="Database" isRequired />}
        <VerdictField name="db_user" label="Account" />
        <VerdictField name="db_name" label="Logical database" />
        <button type="submit">Check</button>
      </form>
      <Verdict of={answer} />
    </>
  );
}

/** The same for a database that is not in the list. */
export function OwnAccessButton() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Check access…
      </button>
      {isOpen && (
        <Dialog title="Check your access to a database" close={() => setOpen(false)}>
          <OwnAccess />
        </Dialog>
      )}
    </>
  );
}
