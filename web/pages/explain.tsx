import { useState } from "preact/hooks";
import { formText } from "../parts/form-text.ts";
import { Page } from "../parts/page.tsx";
import { useVerdict, Verdict, VerdictField } from "./verdict.tsx";

/** "May alice log in as root on web-1, and why": the decision, and what each role says. */
export function Explain() {
  const [kind, setKind] = useState("ssh");
  const { answer, clear, ask } = useVerdict();
  const read = (form: EventTarget | null) =>
    Object.fromEntries(["user", "kind", "name", "login", "db_user", "db_name"].map((name) => [name, formText(form, name).trim()]));
  return (
    <Page title="Explain access">
      <p class="quiet">Whether a user who logs in now may reach something, and which role decides it.</p>
      <form
        class="tools"
        onInput={clear}
        onSubmit={(event) => {
          event.preventDefault();
          void ask("/access", read(event.currentTarget));
        }}
      >
        <VerdictField name="user" label="User" isRequired />
        <label class="field">
          What
          <select name="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="ssh">Host</option>
            <option value="app">Application</option>
            <option value="db">Database</option>
            <option value="kube">Kubernetes cluster</option>
          </select>
        </label>
        <VerdictField name="name" label="Name" isRequired />
        {kind === "ssh" && <VerdictField name="login" label="Login" />}
        {kind === "db" && <VerdictField name="db_user" label="Account" />}
        {kind === "db" && <VerdictField name="db_name" label="Logical database" />}
        <button type="submit" class="primary">
          Explain
        </button>
      </form>
      <Verdict of={answer} />
    </Page>
  );
}
