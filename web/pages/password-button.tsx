import { useState } from "preact/hooks";
import { call } from "../api/request.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Failure } from "../parts/failure.tsx";
import { formText } from "../parts/form-text.ts";
import { notify, sentenceOf } from "../parts/notice.tsx";
import { askAgain } from "../parts/proof-form.tsx";
import { besidesText, RemovePasskeysField, removePasskeysOf } from "./remove-passkeys-field.tsx";

/** Changes the user's own password. `changed` is called once other sessions have ended with it. */
export function PasswordButton({ user, changed }: { readonly user: string; readonly changed: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Change password…
      </button>
      {isOpen && (
        <Dialog title="Change password" close={close}>
          <PasswordForm
            user={user}
            close={close}
            done={(text) => {
              notify(`Your password has been changed.${text}`);
              close();
              changed();
            }}
          />
        </Dialog>
      )}
    </>
  );
}

interface PasswordFormFacts {
  readonly user: string;
  readonly close: () => void;
  /** Gets what else has happened. */
  readonly done: (text: string) => void;
}

function PasswordForm({ user, close, done }: PasswordFormFacts) {
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const [password, wanted, repeat] = ["password", "new", "repeat"].map((name) => formText(form, name));
    if (wanted !== repeat) return setFailure("The two new passwords differ.");
    setBusy(true);
    setFailure(undefined);
    try {
      const code = formText(form, "code").replaceAll(" ", "");
      const more = removePasskeysOf(form);
      const { ended } = await call<{ ended: number }>("/password", { method: "PUT", body: { password, code, new_password: wanted, ...more } });
      done(besidesText(ended, more));
    } catch (thrown) {
      setFailure(sentenceOf(thrown));
      setBusy(false);
      askAgain(form);
    }
  };
  return (
    <form class="login" onSubmit={(event) => void submit(event)}>
      <Failure text={failure} />
      <input name="user" type="hidden" autocomplete="username" value={user} />
      <label>
        Old password
        <input name="password" type="password" autocomplete="current-password" required maxLength={128} />
      </label>
      <label>
        New password <span class="quiet">12 to 128 characters</span>
        <input name="new" type="password" autocomplete="new-password" required minLength={12} maxLength={128} />
      </label>
      <label>
        New password again
        <input name="repeat" type="password" autocomplete="new-password" required minLength={12} maxLength={128} />
      </label>
      <label>
        Code <span class="quiet">from your authenticator app</span>
        <input name="code" inputMode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" required maxLength={16} />
      </label>
      <p class="quiet">All other browsers in which you are logged in are logged out.</p>
      <RemovePasskeysField />
      <p class="buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={isBusy}>
          Change password
        </button>
      </p>
    </form>
  );
}
