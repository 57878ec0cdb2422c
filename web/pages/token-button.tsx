import { useState } from "preact/hooks";
import type { NewToken, TokenAsk } from "../../core/api/web/documents.ts";
import { call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Failure } from "../parts/failure.tsx";
import { sentenceOf } from "../parts/notice.tsx";
import { TimeText } from "../parts/time-text.tsx";

/** Makes a join token, and shows the line that installs and joins a host: the only time that the secret is shown. */
export function TokenButton({ reload }: { readonly reload: () => void }) {
  const [isOpen, setOpen] = useState(false);
  if (!can("token", "create")) return null;
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        New token
      </button>
      {isOpen && (
        <TokenDialog
          close={() => {
            setOpen(false);
            reload();
          }}
        />
      )}
    </>
  );
}

/** The services of a token, and what each is for. */
const services: readonly (readonly [role: TokenAsk["roles"][number], text: string])[] = [
  ["node", "SSH: shells and files"],
  ["app", "applications"],
  ["db", "databases"],
  ["kube", "Kubernetes clusters"],
  ["proxy", "another proxy of this cluster"],
];

function TokenDialog({ close }: { readonly close: () => void }) {
  const [made, setMade] = useState<NewToken>();
  const [failure, setFailure] = useState<string>();
  const make = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const fields = new FormData(event.currentTarget);
    const body = { roles: fields.getAll("role").map(String) as TokenAsk["roles"], ttl_seconds: Number(fields.get("ttl")) } satisfies TokenAsk;
    try {
      setMade(await call<NewToken>("/tokens", { method: "POST", body }));
    } catch (thrown) {
      setFailure(sentenceOf(thrown));
    }
  };
  return (
    <Dialog title="New join token" close={close} wide={made !== undefined} isKept={made !== undefined}>
      <Failure text={failure} />
      {made === undefined ? <TokenForm submit={make} /> : <MadeToken made={made} />}
    </Dialog>
  );
}

function TokenForm({ submit }: { readonly submit: (event: SubmitEvent) => Promise<void> }) {
  return (
    <form onSubmit={(event) => void submit(event)}>
      <fieldset>
        <legend>The host may offer</legend>
        {services.map(([role, text], at) => (
          <label key={role} class="check">
            <input type="checkbox" name="role" value={role} defaultChecked={at === 0} />
            {role}: {text}
          </label>
        ))}
      </fieldset>
      <label class="field">
        It works for
        <select name="ttl">
          <option value="1800">30 minutes</option>
          <option value="86400">1 day</option>
          <option value="604800">1 week</option>
        </select>
      </label>
      <p class="buttons">
        <button type="submit" class="primary">
          Make the token
        </button>
      </p>
    </form>
  );
}

function MadeToken({ made: { secret, install, config, expires } }: { readonly made: NewToken }) {
  return (
    <>
      <p>
        This is the only time that the secret is shown.{" "}
        {expires !== undefined && (
          <>
            It works until <TimeText at={expires} />.
          </>
        )}
      </p>
      {install !== "" && (
        <>
          <p>On the host, as root:</p>
          <CommandLine line={install} />
        </>
      )}
      <details open={install === ""}>
        <summary>As a configuration file: /etc/platform.yaml</summary>
        <CommandLine line={config} />
      </details>
      <details>
        <summary>The secret alone</summary>
        <CommandLine line={secret} />
      </details>
    </>
  );
}
