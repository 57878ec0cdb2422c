import { useState } from "preact/hooks";
import type { Folder, FolderEntry } from "../../core/api/web/files.ts";
import { type Loaded, useLoaded } from "../api/load.ts";
import { CallError, call } from "../api/request.ts";
import { Dialog } from "../parts/dialog.tsx";
import { sentenceOf } from "../parts/notice.tsx";
import { shownName } from "../text/shown-name.ts";
import { sizeText } from "../text/size.ts";
import { downloadFile } from "./download-file.ts";
import { type FilePlace, FolderView } from "./folder-view.tsx";
import { Uploads } from "./uploads.tsx";

export interface FilesFacts {
  readonly node: string;
  readonly login: string;
  readonly close: () => void;
}

/** What the dialog reports of the last copy. */
interface Outcome {
  readonly text: string;
  readonly isFailure: boolean;
}

/** The files of a host, as the login of the terminal: a folder is listed, its files are fetched, and others are sent to it. */
export function FilesDialog({ node, login, close }: FilesFacts) {
  const [outcome, setOutcome] = useState<Outcome>();
  const [at, setAt] = useState<FilePlace>({});
  const loaded: Loaded<Folder> = useLoaded(JSON.stringify(at), async (signal): Promise<Folder> => {
    const listed = call<Folder>("/files/folder", { query: { node, login, ...at }, signal });
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
      const { path, size } = await downloadFile({ node, login, ...file });
      setOutcome({ text: `The browser saves ${shownName(path)}, ${sizeText(size)}.`, isFailure: false });
    } catch (thrown) {
      setOutcome({ text: sentenceOf(thrown), isFailure: true });
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
  const failure = error === undefined ? undefined : { text: sentenceOf(error), isFailure: true };
  const shown = failure ?? outcome;
  return (
    <Dialog title="Files" close={close} wide>
      <FolderView folder={folder} isLoading={isLoading} go={go} choose={choose} />
      <Uploads place={{ node, login }} folder={folder} stored={reload} />
      {shown !== undefined && (
        <p class={shown.isFailure ? "problem" : ""} role={shown.isFailure ? "alert" : "status"}>
          {shown.text}
        </p>
      )}
    </Dialog>
  );
}
