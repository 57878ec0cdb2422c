import { useState } from "preact/hooks";
import type { Folder, FolderEntry } from "../../core/api/web/files.ts";
import { type Loaded, useLoaded } from "../api/load.ts";
import { CallError, call } from "../api/request.ts";
import { EnterCode } from "../confirm/enter-code.tsx";
import { isUnconfirmed, useCode } from "../confirm/use-code.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { sentenceOf } from "../parts/notice.tsx";
import { shownName } from "../text/shown-name.ts";
import { sizeText } from "../text/size.ts";
import { downloadFile } from "./download-file.ts";
import { type FilePlace, FolderView } from "./folder-view.tsx";
import { type HostFiles, Uploads } from "./uploads.tsx";

export interface FilesFacts {
  readonly node: string;
  readonly login: string;
  /** What a code has confirmed for these files. `confirmed` gets it; it is kept as long as the page is open. */
  readonly confirmation: string | undefined;
  readonly confirmed: (confirmation: string) => void;
  readonly close: () => void;
}

/** What the dialog reports of the last copy. */
interface Outcome {
  readonly text: string;
  readonly isFailure: boolean;
}

/** The files of a host, as the login of the terminal: a folder is listed, its files are fetched, and others are sent to it. */
export function FilesDialog({ node, login, confirmation, confirmed, close }: FilesFacts) {
  const host: HostFiles = { node, login, ...(confirmation !== undefined && { confirmation }) };
  const [unconfirmed, setUnconfirmed] = useState<Error>();
  const question = useCode({ type: "files", node, login }, (given) => {
    setUnconfirmed(undefined);
    confirmed(given);
  });
  const [outcome, setOutcome] = useState<Outcome>();
  const [at, setAt] = useState<FilePlace>({});
  const loaded: Loaded<Folder> = useLoaded(JSON.stringify([at, confirmation]), async (signal): Promise<Folder> => {
    const listed = call<Folder>("/files/folder", { query: { node, login, ...at }, confirmation, signal });
    return await listed.catch((thrown: unknown) => {
      // A file that was asked for by its path: the folder stays, and is what is loaded again after that.
      const there = loaded.value;
      if (!(thrown instanceof CallError) || thrown.code !== "conflict" || there === undefined) throw thrown;
      if (!signal.aborted) {
        void fetchFile(at);
        setAt({ bytes: there.bytes });
      }
      return there;
    });
  });
  const { value: folder, error, isLoading, reload } = loaded;
  const fetchFile = async (file: FilePlace): Promise<void> => {
    setOutcome(undefined);
    try {
      const { path, size } = await downloadFile({ node, login, ...file }, confirmation);
      setOutcome({ text: `The browser saves ${shownName(path)}, ${sizeText(size)}.`, isFailure: false });
    } catch (thrown) {
      if (isUnconfirmed(thrown)) setUnconfirmed(thrown);
      else setOutcome({ text: sentenceOf(thrown), isFailure: true });
    }
  };
  const choose = ({ kind, bytes }: FolderEntry): void => {
    if (kind === "folder") setAt({ bytes });
    else void fetchFile({ bytes });
  };
  const go = (place: FilePlace): void => {
    setOutcome(undefined);
    if (JSON.stringify(place) === JSON.stringify(at)) reload();
    else setAt(place);
  };
  const refused = isUnconfirmed(error) ? error : unconfirmed;
  const failure = error === undefined ? undefined : { text: sentenceOf(error), isFailure: true };
  const shown = failure ?? outcome;
  return (
    <>
      <Dialog title="Files" close={close} wide>
        <FolderView folder={folder} isLoading={isLoading} go={go} choose={choose} />
        <Uploads place={host} folder={folder} stored={reload} refused={setUnconfirmed} />
        {refused === undefined ? <OutcomeLine of={shown} /> : <EnterCode error={refused} question={question} />}
      </Dialog>
      {question.dialog}
    </>
  );
}

function OutcomeLine({ of: shown }: { readonly of: Outcome | undefined }) {
  if (shown === undefined) return null;
  return (
    <p class={shown.isFailure ? "problem" : ""} role={shown.isFailure ? "alert" : "status"}>
      {shown.text}
    </p>
  );
}
