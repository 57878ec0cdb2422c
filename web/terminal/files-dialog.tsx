import { useEffect, useRef, useState } from "preact/hooks";
import { bearer, CallError } from "../api/request.ts";
import { Dialog } from "../parts/dialog.tsx";
import { formText } from "../parts/form-text.ts";
import { sentenceOf } from "../parts/notice.tsx";
import { sizeText } from "../text/size.ts";
import { downloadFile } from "./download-file.ts";
import { uploadFile } from "./upload-file.ts";

export interface FilesFacts {
  readonly node: string;
  readonly login: string;
  readonly close: () => void;
}

/** What the dialog reports of the last copy. */
type Outcome = { readonly text: string; readonly isFailure: boolean } | undefined;

/** Copies files to a host and from it, as the login of the terminal. */
export function FilesDialog({ node, login, close }: FilesFacts) {
  const [outcome, setOutcome] = useState<Outcome>();
  const place = { node, login };
  return (
    <Dialog title="Files" close={close}>
      <Upload place={place} setOutcome={setOutcome} />
      <Download place={place} setOutcome={setOutcome} />
      {outcome !== undefined && (
        <p class={outcome.isFailure ? "problem" : ""} role={outcome.isFailure ? "alert" : "status"}>
          {outcome.text}
        </p>
      )}
    </Dialog>
  );
}

interface PartFacts {
  readonly place: { readonly node: string; readonly login: string };
  readonly setOutcome: (outcome: Outcome) => void;
}

interface Sending {
  readonly file: File;
  readonly folder: string;
}

function Upload({ place, setOutcome }: PartFacts) {
  const { sending, done, asks, start, answer, cancel } = useUpload({ place, setOutcome });
  if (asks !== undefined) {
    return (
      <div role="alert">
        <p>
          <strong>{asks.file.name}</strong> exists there already.
        </p>
        <p class="buttons">
          <button type="button" onClick={() => answer(false)}>
            Keep it
          </button>
          <button type="button" class="danger" onClick={() => answer(true)}>
            Replace
          </button>
        </p>
      </div>
    );
  }
  if (sending !== undefined) {
    return (
      <p class="buttons">
        <progress aria-label={`Upload of ${sending.file.name}`} max={sending.file.size} value={done} />
        <span>
          {sizeText(done)} of {sizeText(sending.file.size)}
        </span>
        <button type="button" onClick={cancel}>
          Cancel the upload
        </button>
      </p>
    );
  }
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const file = new FormData(form).get("file");
    if (file instanceof File && file.name !== "") start({ file, folder: formText(form, "folder") });
  };
  return (
    <form onSubmit={submit}>
      <label class="field">
        <span>Send a file</span>
        <input type="file" name="file" required />
      </label>
      <label class="field">
        <span>To the folder</span>
        <input type="text" name="folder" placeholder="~" spellcheck={false} autocomplete="off" />
      </label>
      <p class="buttons">
        <button type="submit">Send</button>
      </p>
    </form>
  );
}

/** One upload at a time; it ends with the dialog. */
function useUpload({ place, setOutcome }: PartFacts) {
  const [sending, setSending] = useState<Sending>();
  const [asks, setAsks] = useState<Sending>();
  const [done, setDone] = useState(0);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const send = async (wish: Sending, replace: boolean): Promise<void> => {
    const { file, folder } = wish;
    const life = new AbortController();
    running.current = life;
    setOutcome(undefined);
    setDone(0);
    setSending(wish);
    try {
      const ask = { ...place, folder, name: file.name, size: file.size, replace };
      const path = await uploadFile({ file, ask, token: bearer.value ?? "", progress: setDone, signal: life.signal });
      setOutcome({ text: `${path} is stored.`, isFailure: false });
    } catch (thrown) {
      if (thrown instanceof CallError && thrown.code === "already_exists") setAsks(wish);
      else setOutcome({ text: sentenceOf(thrown), isFailure: true });
    } finally {
      setSending(undefined);
    }
  };
  const answer = (replace: boolean): void => {
    setAsks(undefined);
    if (replace && asks !== undefined) void send(asks, true);
  };
  return { sending, done, asks, start: (wish: Sending) => void send(wish, false), answer, cancel: () => running.current?.abort() };
}

function Download({ place, setOutcome }: PartFacts) {
  const [isBusy, setBusy] = useState(false);
  const run = async (path: string): Promise<void> => {
    setBusy(true);
    setOutcome(undefined);
    try {
      const facts = await downloadFile({ ...place, path });
      setOutcome({ text: `The browser saves ${facts.path}, ${sizeText(facts.size)}.`, isFailure: false });
    } catch (thrown) {
      setOutcome({ text: sentenceOf(thrown), isFailure: true });
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void run(formText(event.currentTarget, "path"));
  };
  return (
    <form onSubmit={submit}>
      <label class="field">
        <span>Fetch the file</span>
        <input type="text" name="path" required spellcheck={false} autocomplete="off" />
      </label>
      <p class="buttons">
        <button type="submit" disabled={isBusy}>
          Fetch
        </button>
      </p>
    </form>
  );
}
