import { useState } from "preact/hooks";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./failure.tsx";
import { sentenceOf } from "./notice.tsx";

export interface AskFirstFacts {
  readonly title: string;
  /** What will happen, a sentence or two. */
  readonly text: string;
  /** The verb on the button. */
  readonly verb: string;
  readonly close: () => void;
  /** Throws CallError; the dialog then stays, with the reason. */
  readonly act: () => Promise<void>;
}

/** Asks before something that cannot be undone. */
export function AskFirst({ title, text, verb, close, act }: AskFirstFacts) {
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await act();
      close();
    } catch (thrown) {
      setFailure(sentenceOf(thrown));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <p>{text}</p>
      <Failure text={failure} />
      <p class="buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={() => void run()}>
          {verb}
        </button>
      </p>
    </Dialog>
  );
}
