import { useRef, useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.tsx";
import { Failure } from "../parts/failure.tsx";
import { formText } from "../parts/form-text.ts";
import { sentenceOf } from "../parts/notice.tsx";

export interface CodeDialogFacts {
  /** What needs the code: a sentence. */
  readonly why: string;
  /** Confirms by the code. Throws for a wrong one: the dialog stays. */
  readonly send: (code: string) => Promise<void>;
  /** Called when it is left without a code. */
  readonly close: () => void;
}

/** Asks for a one-time code. A code is good for one attempt: after a wrong one the field is empty. */
export function CodeDialog({ why, send, close }: CodeDialogFacts) {
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const code = formText(event.currentTarget as HTMLFormElement, "code").replaceAll(" ", "");
    setBusy(true);
    try {
      await send(code);
    } catch (thrown) {
      setFailure(sentenceOf(thrown));
      setBusy(false);
      if (field.current !== null) field.current.value = "";
      field.current?.focus();
    }
  };
  return (
    <Dialog title="Enter code" close={close}>
      <form class="login" onSubmit={(event) => void submit(event)}>
        <p>{why}</p>
        <Failure text={failure} />
        <label>
          Code <span class="quiet">from your authenticator app</span>
          <input ref={field} name="code" inputMode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" required maxLength={16} autofocus />
        </label>
        <p class="buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            Confirm
          </button>
        </p>
      </form>
    </Dialog>
  );
}
