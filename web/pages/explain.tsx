import { useRef, useState } from "preact/hooks";
import type { AccessExplanation } from "../../core/api/web/access.ts";
import { call } from "../api/request.ts";
import { formText } from "../parts/form-text.ts";
import { sentenceOf } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { StateText, type Tone } from "../parts/state-text.tsx";

type Answered = { readonly found: AccessExplanation } | { readonly failure: string };

/** "May alice log in as root on web-1, and why": the decision, and what each role says. */
export function Explain() {
  const [kind, setKind] = useState("ssh");
  const [answer, setAnswer] = useState<Answered>();
  const asked = useRef<AbortController>(undefined);
  /** A verdict belongs to what stands in the fields: a change of one takes it away. */
  const clear = (): void => {
    asked.current?.abort();
    setAnswer(undefined);
  };
  const ask = async (form: EventTarget | null): Promise<void> => {
    clear();
    const stop = new AbortController();
    asked.current = stop;
    const { signal } = stop;
    const query = Object.fromEntries(["user", "kind", "name", "login", "db_user", "db_name"].map((name) => [name, formText(form, name).trim()]));
    try {
      const found = await call<AccessExplanation>("/access", { query, signal });
      if (!signal.aborted) setAnswer({ found });
    } catch (thrown) {
      if (!signal.aborted) setAnswer({ failure: sentenceOf(thrown) });
    }
  };
  return (
    <Page title="Explain access">
      <p class="quiet">Whether a user who logs in now may reach something, and which role decides it.</p>
      <form
        class="tools"
        onInput={clear}
        onSubmit={(event) => {
          event.preventDefault();
          void ask(event.currentTarget);
        }}
      >
        <Field name="user" label="User" isRequired />
        <label class="field">
          What
          <select name="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="ssh">Host</option>
            <option value="app">Application</option>
            <option value="db">Database</option>
            <option value="kube">Kubernetes cluster</option>
          </select>
        </label>
        <Field name="name" label="Name" isRequired />
        {kind === "ssh" && <Field name="login" label="Login" />}
        {kind === "db" && <Field name="db_user" label="Account" />}
        {kind === "db" && <Field name="db_name" label="Logical database" />}
        <button type="submit" class="primary">
          Explain
        </button>
      </form>
      <div aria-live="polite">{answer !== undefined && <Answer of={answer} />}</div>
    </Page>
  );
}

function Field({ name, label, isRequired = false }: { readonly name: string; readonly label: string; readonly isRequired?: boolean }) {
  return (
    <label class="field">
      {label}
      <input
        name={name}
        required={isRequired}
        placeholder={isRequired ? "" : "any"}
        maxLength={253}
        autocomplete="off"
        spellcheck={false}
        autocapitalize="none"
      />
    </label>
  );
}

const order = ["denies", "allows", "nothing"] as const;
const tones: Readonly<Record<(typeof order)[number], Tone>> = { denies: "bad", allows: "good", nothing: "idle" };

function Answer({ of }: { readonly of: Answered }) {
  if ("failure" in of) return <p class="problem">{of.failure}</p>;
  const { allowed, reason, roles } = of.found;
  const sorted = [...roles].sort((a, b) => order.indexOf(a.says) - order.indexOf(b.says));
  return (
    <>
      <p class="verdict">
        <StateText tone={allowed ? "good" : "bad"}>{allowed ? "Allowed" : "Denied"}</StateText>: {reason}.
      </p>
      <ul class="says" aria-label="What each role says">
        {sorted.map(({ role, says, why = "" }) => (
          <li key={role}>
            <strong>{role}</strong>
            <StateText tone={tones[says]}>{says === "nothing" ? "says nothing" : says}</StateText>
            <span>{why}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
