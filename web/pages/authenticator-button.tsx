import { useEffect, useRef, useState } from "preact/hooks";
import type { NewAuthenticator } from "../../core/api/web/authenticator.ts";
import { call } from "../api/request.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Failure } from "../parts/failure.tsx";
import { formText } from "../parts/form-text.ts";
import { notify } from "../parts/notice.tsx";
import { CodeField, codeOf, FormButtons, PasswordField, useSending } from "../parts/proof-form.tsx";
import { besidesText, RemovePasskeysField, removePasskeysOf } from "./remove-passkeys-field.tsx";

export interface AuthenticatorButtonFacts {
  readonly user: string;
  /** Called once other sessions have ended with the old authenticator. */
  readonly changed: () => void;
}

/** Replaces the user's own authenticator: the password and a code of the old one show the new secret, and with a code of the new one it counts. */
export function AuthenticatorButton({ user, changed }: AuthenticatorButtonFacts) {
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<NewAuthenticator>();
  const close = (): void => {
    setOpen(false);
    setMade(undefined);
  };
  const confirmed = (text: string): void => {
    notify(`Your new authenticator counts from now on.${text}`);
    close();
    changed();
  };
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Replace authenticator…
      </button>
      {isOpen && (
        <Dialog title="Replace authenticator" close={close} isKept={made !== undefined}>
          {made === undefined ? <Start {...{ user, close }} done={setMade} /> : <Confirm {...{ made, close }} done={confirmed} />}
        </Dialog>
      )}
    </>
  );
}

interface StepFacts<Done> {
  readonly close: () => void;
  readonly done: (found: Done) => void;
}

function Start({ user, close, done }: StepFacts<NewAuthenticator> & { readonly user: string }) {
  const { failure, isBusy, onSubmit } = useSending(
    async (form) =>
      await call<NewAuthenticator>("/authenticator", { method: "POST", body: { password: formText(form, "password"), code: codeOf(form) } }),
    done,
  );
  return (
    <form class="login" onSubmit={onSubmit}>
      <Failure text={failure} />
      <PasswordField user={user} />
      <CodeField label="Code" of="from the authenticator that you use now" />
      <p class="quiet">It goes on counting until you have entered a code of the new one.</p>
      <FormButtons close={close} verb="Continue" isBusy={isBusy} />
    </form>
  );
}

function Confirm({ made: { uri, secret, picture }, close, done }: StepFacts<string> & { readonly made: NewAuthenticator }) {
  const { failure, isBusy, onSubmit } = useSending(async (form) => {
    const more = removePasskeysOf(form);
    const { ended } = await call<{ ended: number }>("/authenticator", { method: "PUT", body: { code: codeOf(form), ...more } });
    return besidesText(ended, more);
  }, done);
  const { size, path } = picture;
  // The button that had the focus has gone.
  const steps = useRef<HTMLDivElement>(null);
  useEffect(() => steps.current?.focus(), []);
  return (
    <form class="login" onSubmit={onSubmit}>
      <Failure text={failure} />
      <div class="new-authenticator" ref={steps} tabIndex={-1}>
        <svg viewBox={`-2 -2 ${size + 4} ${size + 4}`} role="img" aria-label="QR code of the new authenticator">
          <path d={path} />
        </svg>
        <div>
          <p>
            Scan this with an authenticator app, or <a href={uri}>open it in an app on this device</a>. By hand, add a time-based code with the key:
          </p>
          <p>
            <code>{secret}</code>
          </p>
          <p class="quiet">It is shown this once, and waits ten minutes for its first code.</p>
        </div>
      </div>
      <CodeField label="Code of the new authenticator" of="six digits" />
      <p class="quiet">The old one stops working, and all other browsers in which you are logged in are logged out.</p>
      <RemovePasskeysField />
      <FormButtons close={close} verb="Replace authenticator" isBusy={isBusy} />
    </form>
  );
}
