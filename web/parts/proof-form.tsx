import { useEffect, useRef, useState } from "preact/hooks";
import { formText } from "./form-text.ts";
import { sentenceOf } from "./notice.tsx";

/* Forms in which users prove to be themselves. */

/** A signal for what ends with a part of the page: it is aborted once the part has gone. */
export function useGone(): AbortSignal {
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);
  return gone.current.signal;
}

/**
 * A form that is sent as a whole: what went wrong, whether an answer is awaited, and what sends it. `gone` is aborted once the form has gone: what fails then is
 * of no interest.
 */
export function useSending<Done>(send: (form: EventTarget | null, gone: AbortSignal) => Promise<Done>, done: (found: Done) => void) {
  const gone = useGone();
  const sent = useRef<EventTarget>(null);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const run = async (form: EventTarget | null): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      done(await send(form, gone));
    } catch (thrown) {
      if (gone.aborted) return;
      setFailure(sentenceOf(thrown));
      setBusy(false);
    }
  };
  // After the form is drawn with it: its fields may have been disabled.
  useEffect(() => {
    if (failure !== undefined) askAgain(sent.current);
  }, [failure]);
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    sent.current = event.currentTarget;
    void run(event.currentTarget);
  };
  return { failure, isBusy, onSubmit };
}

/** The password, for a user whom password managers recognise. */
export function PasswordField({ user }: { readonly user: string }) {
  return (
    <>
      <input name="user" type="hidden" autocomplete="username" value={user} />
      <label>
        Password
        <input name="password" type="password" autocomplete="current-password" required maxLength={128} />
      </label>
    </>
  );
}

export function CodeField({ label, of }: { readonly label: string; readonly of: string }) {
  return (
    <label>
      {label} <span class="quiet">{of}</span>
      <input name="code" inputMode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" required maxLength={16} />
    </label>
  );
}

/** A code is good for one attempt: the next one is asked for. Where a form has none now, it goes on by its button. */
export function askAgain(form: EventTarget | null): void {
  if (!(form instanceof HTMLFormElement)) return;
  const code = form.querySelector<HTMLInputElement>("input[name=code]");
  if (code !== null) code.value = "";
  form.querySelector<HTMLElement>("input[name=code]:enabled, button[type=submit]")?.focus();
}

export function codeOf(form: EventTarget | null): string {
  return formText(form, "code").replaceAll(" ", "");
}

export interface FormButtonsFacts {
  readonly close: () => void;
  readonly verb: string;
  readonly isBusy: boolean;
  /** What it does cannot be undone. */
  readonly isDanger?: boolean;
}

export function FormButtons({ close, verb, isBusy, isDanger = false }: FormButtonsFacts) {
  return (
    <p class="buttons">
      <button type="button" onClick={close}>
        Cancel
      </button>
      <button type="submit" class={isDanger ? "danger" : "primary"} disabled={isBusy}>
        {verb}
      </button>
    </p>
  );
}
