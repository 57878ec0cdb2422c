import { useState } from "preact/hooks";
import type { Passkey } from "../../core/api/web/passkeys.ts";
import { useLoaded } from "../api/load.ts";
import { addPasskey, createPasskey, hasPasskeyApi, listPasskeys, removePasskey, type StartedPasskey, startPasskey } from "../api/passkeys.ts";
import { CallError } from "../api/request.ts";
import { person } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Failure } from "../parts/failure.tsx";
import { formText } from "../parts/form-text.ts";
import { notify } from "../parts/notice.tsx";
import { Answer } from "../parts/page.tsx";
import { CodeField, codeOf, FormButtons, PasswordField, useSending } from "../parts/proof-form.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import { browserName } from "../text/browser-name.ts";
import { noPasskeys } from "../text/passkey-place.ts";
import { besidesText } from "./remove-passkeys-field.tsx";

/** The user's passkeys: which there are, another one, and their removal. `changed` is called once other sessions have ended with one. */
export function Passkeys({ changed }: { readonly changed: () => void }) {
  const [adding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Passkey>();
  const loaded = useLoaded("passkeys", listPasskeys);
  const { user = "", proxy = "" } = person.value ?? {};
  const unable = noPasskeys({ host: location.host, proxy, isSupported: hasPasskeyApi() });
  const stopAdding = (): void => {
    setAdding(false);
    // One whose answer did not come may have been added.
    loaded.reload();
  };
  const after = (text: string, ended = 0): void => {
    notify(text);
    setAdding(false);
    setRemoved(undefined);
    loaded.reload();
    if (ended > 0) changed();
  };
  return (
    <>
      <p>
        A passkey logs you in here without password and code: your device or a security key asks for its PIN, your finger or your face. Keep your
        authenticator app for the command line and for sessions that ask for a code.
      </p>
      <Answer of={loaded}>{(passkeys) => passkeys.length > 0 && <List passkeys={passkeys} remove={setRemoved} />}</Answer>
      {unable === undefined ? (
        <p class="buttons">
          <button type="button" onClick={() => setAdding(true)}>
            Add a passkey…
          </button>
        </p>
      ) : (
        <p class="quiet">{unable}</p>
      )}
      {adding && <AddDialog user={user} close={stopAdding} done={(name) => after(`The passkey ${name} has been added.`)} />}
      {removed !== undefined && (
        <RemoveDialog
          user={user}
          passkey={removed}
          canAnswer={unable === undefined}
          close={() => setRemoved(undefined)}
          done={(ended) => after(`The passkey ${removed.name} has been removed. Remove it from your device too.${besidesText(ended, {})}`, ended)}
        />
      )}
    </>
  );
}

function List({ passkeys, remove }: { readonly passkeys: readonly Passkey[]; readonly remove: (passkey: Passkey) => void }) {
  return <Table caption="Your passkeys" columns={columnsOf(remove)} rows={passkeys} keyOf={({ id }) => id} order={{ id: "name", down: false }} />;
}

function columnsOf(remove: (passkey: Passkey) => void): readonly Column<Passkey>[] {
  return [
    { id: "name", title: "Name", by: ({ name }) => name, share: 3, cell: ({ name }) => name },
    { id: "host", title: "Works at", by: ({ host }) => host, wide: true, cell: ({ host }) => host },
    { id: "created", title: "Added", by: ({ created }) => Date.parse(created), wide: true, cell: ({ created }) => <TimeText at={created} ago /> },
    {
      id: "used",
      title: "Last used",
      by: ({ last_used: used }) => (used === undefined ? 0 : Date.parse(used)),
      cell: ({ last_used: used }) => (used === undefined ? "never" : <TimeText at={used} ago />),
    },
    {
      id: "remove",
      title: "Actions",
      cell: (passkey) => (
        <button type="button" class="danger" aria-label={`Remove ${passkey.name}`} onClick={() => remove(passkey)}>
          Remove…
        </button>
      ),
    },
  ];
}

interface AddFacts {
  readonly user: string;
  readonly close: () => void;
  readonly done: (name: string) => void;
}

/** Password and code first, which start it; then the browser's question, as often as it takes. */
function AddDialog({ user, close, done }: AddFacts) {
  const [started, setStarted] = useState<StartedPasskey>();
  const { failure, isBusy, onSubmit } = useSending(async (form, gone) => {
    if (started !== undefined && Date.now() >= started.ends) {
      setStarted(undefined);
      throw new CallError("denied", "the time to make the passkey is over", "enter a new code");
    }
    const going = started ?? (await startPasskey({ name: formText(form, "name").trim(), password: formText(form, "password"), code: codeOf(form) }));
    setStarted(going);
    const made = await createPasskey(going, gone);
    try {
      await addPasskey(going, made);
    } catch (thrown) {
      setStarted(undefined);
      throw thrown;
    }
    return going.name;
  }, done);
  const isStarted = started !== undefined;
  return (
    <Dialog title="Add a passkey" close={close}>
      <form class="login" onSubmit={onSubmit}>
        <Failure text={failure} />
        <fieldset disabled={isStarted} hidden={isStarted}>
          <label>
            Name <span class="quiet">by which you know it again</span>
            <input name="name" required maxLength={64} defaultValue={browserName(navigator.userAgent)} autocomplete="off" />
          </label>
          <PasswordField user={user} />
          <CodeField label="Code" of="from your authenticator app" />
        </fieldset>
        <p class="quiet">
          {isStarted
            ? `Your browser asks where to keep the passkey ${started.name}. It asks again when you continue, for five minutes and without a new code.`
            : "Your browser then asks where to keep the passkey."}
        </p>
        <FormButtons close={close} verb="Continue" isBusy={isBusy} />
      </form>
    </Dialog>
  );
}

interface RemoveFacts {
  readonly user: string;
  readonly passkey: Passkey;
  /** Whether a passkey can answer here. */
  readonly canAnswer: boolean;
  readonly close: () => void;
  readonly done: (ended: number) => void;
}

function RemoveDialog({ user, passkey: { id, name }, canAnswer, close, done }: RemoveFacts) {
  const { failure, isBusy, onSubmit } = useSending(async (form, gone) => {
    const password = formText(form, "password");
    // The form without a password asks for a passkey.
    return await removePasskey({ id, proof: password === "" ? undefined : { password, code: codeOf(form) } }, gone);
  }, done);
  return (
    <Dialog title={`Remove passkey ${name}?`} close={close}>
      <p>It logs you in no longer. Confirm it by your password and a code{canAnswer && ", or by a passkey"}.</p>
      <form class="login" onSubmit={onSubmit}>
        <Failure text={failure} />
        <PasswordField user={user} />
        <CodeField label="Code" of="from your authenticator app" />
        <FormButtons close={close} verb="Remove" isBusy={isBusy} isDanger />
      </form>
      {canAnswer && (
        <form onSubmit={onSubmit}>
          <p class="buttons">
            <button type="submit" disabled={isBusy}>
              Confirm with a passkey
            </button>
          </p>
        </form>
      )}
    </Dialog>
  );
}
