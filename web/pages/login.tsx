import { useState } from "preact/hooks";
import { hasPasskeyApi, logInWithPasskey } from "../api/passkeys.ts";
import { logIn } from "../api/session.ts";
import { Failure } from "../parts/failure.tsx";
import { formText } from "../parts/form-text.ts";
import { sentenceOf } from "../parts/notice.tsx";
import { askAgain, useGone } from "../parts/proof-form.tsx";
import { noPasskeys } from "../text/passkey-place.ts";

/** The login: also shown over a page whose session has ended, which goes on afterwards; the page is that of `user`, and no other may log in there. */
export function Login({ user: known = "" }: { readonly user?: string }) {
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const field = (name: string): string => formText(form, name);
    setBusy(true);
    setFailure(undefined);
    try {
      await logIn({ user: field("user").trim(), password: field("password"), code: field("code").replaceAll(" ", "") });
    } catch (thrown) {
      setFailure(sentenceOf(thrown));
      setBusy(false);
      askAgain(form);
    }
  };
  return (
    <form class="login" onSubmit={(event) => void submit(event)}>
      <Failure text={failure} />
      <label>
        User
        <input
          name="user"
          autocomplete="username"
          required
          maxLength={64}
          defaultValue={known}
          readOnly={known !== ""}
          autofocus={known === ""}
          spellcheck={false}
          autocapitalize="none"
        />
      </label>
      <label>
        Password
        <input name="password" type="password" autocomplete="current-password" required maxLength={128} autofocus={known !== ""} />
      </label>
      <label>
        Code <span class="quiet">from your authenticator app</span>
        <input name="code" inputMode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" required maxLength={16} />
      </label>
      <button type="submit" class="primary" disabled={isBusy}>
        Log in
      </button>
      <PasskeyButton user={known} {...{ isBusy, setBusy, setFailure }} />
    </form>
  );
}

interface PasskeyButtonFacts {
  /** The only user who may log in; empty: any. */
  readonly user: string;
  readonly isBusy: boolean;
  readonly setBusy: (isBusy: boolean) => void;
  readonly setFailure: (text: string | undefined) => void;
}

/** The login with a passkey, where the browser and the address can have one. */
function PasskeyButton({ user, isBusy, setBusy, setFailure }: PasskeyButtonFacts) {
  const gone = useGone();
  if (noPasskeys({ host: location.host, isSupported: hasPasskeyApi() }) !== undefined) return null;
  const logIn = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      await logInWithPasskey({ user: user === "" ? undefined : user, gone });
    } catch (thrown) {
      // A login in another tab took the form away.
      if (gone.aborted) return;
      setFailure(sentenceOf(thrown));
      setBusy(false);
    }
  };
  return (
    <button type="button" disabled={isBusy} onClick={() => void logIn()}>
      Log in with a passkey
    </button>
  );
}

/** The whole page before a login. */
export function LoginPage() {
  return (
    <main class="alone">
      <h1>Log in</h1>
      <Login />
      <p class="quiet">No account yet, or lost your password? Ask an administrator of this cluster for a link.</p>
    </main>
  );
}
