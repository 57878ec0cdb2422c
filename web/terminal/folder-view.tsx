import { useEffect, useRef, useState } from "preact/hooks";
import type { FileQuery, Folder, FolderEntry } from "../../core/api/web/files.ts";
import { formText } from "../parts/form-text.ts";
import { TimeText } from "../parts/time-text.tsx";
import { shownName } from "../text/shown-name.ts";
import { sizeText } from "../text/size.ts";

/** Where a folder or a file is: what the user wrote, or what a listing has. */
export type FilePlace = Pick<FileQuery, "path" | "bytes">;

export interface FolderFacts {
  /** Undefined: none is loaded yet. */
  readonly folder: Folder | undefined;
  readonly isLoading: boolean;
  readonly go: (place: FilePlace) => void;
  /** A folder is opened, a file is fetched. */
  readonly choose: (entry: FolderEntry) => void;
}

/** A folder of a host: where it is, and what is in it. */
export function FolderView({ folder, isLoading, go, choose }: FolderFacts) {
  const [written, setWritten] = useState<string>();
  const isAsked = useRef(true);
  // A listing that was asked for before takes nothing of what the user is writing.
  useEffect(() => {
    if (isAsked.current) setWritten(undefined);
  }, [folder]);
  const ask = (place: FilePlace): void => {
    isAsked.current = true;
    go(place);
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const path = formText(event.currentTarget, "path");
    ask(path === "" ? {} : { path });
  };
  const open = (entry: FolderEntry): void => {
    isAsked.current = true;
    choose(entry);
  };
  return (
    <section aria-label="Folder" aria-busy={isLoading}>
      <form class="folder-place" onSubmit={submit}>
        <label class="field">
          <span>Folder, or a file to fetch</span>
          <input
            type="text"
            name="path"
            value={written ?? folder?.path ?? ""}
            onInput={({ currentTarget }) => {
              isAsked.current = false;
              setWritten(currentTarget.value);
            }}
            placeholder="~"
            spellcheck={false}
            autocomplete="off"
          />
        </label>
        <button type="submit">Open</button>
        <button type="button" disabled={folder?.parent === undefined} onClick={() => ask({ bytes: folder?.parent })}>
          Up
        </button>
      </form>
      <ul class="folder" aria-label={folder === undefined ? "Files" : `Files in ${folder.path}`}>
        {folder?.entries.map((entry) => (
          <Entry key={entry.bytes} entry={entry} choose={open} />
        ))}
      </ul>
      {folder?.entries.length === 0 && <p class="quiet">The folder is empty.</p>}
      {folder?.isCut === true && <p class="quiet">Only a part of the folder is listed: open others by their path.</p>}
      {folder === undefined && isLoading && <p class="quiet">Loading…</p>}
    </section>
  );
}

function Entry({ entry, choose }: { readonly entry: FolderEntry; readonly choose: FolderFacts["choose"] }) {
  const { name, kind, size, modified } = entry;
  const shown = shownName(name);
  return (
    <li>
      {kind === "other" ? (
        <span class="quiet">{shown}</span>
      ) : (
        <button type="button" class="plain" onClick={() => choose(entry)} title={kind === "folder" ? "Open the folder" : "Fetch the file"}>
          {kind === "folder" ? `${shown}/` : shown}
        </button>
      )}
      <span class="quiet size">{kind === "file" ? sizeText(size) : ""}</span>
      <span class="quiet">
        <TimeText at={modified} short />
      </span>
    </li>
  );
}
