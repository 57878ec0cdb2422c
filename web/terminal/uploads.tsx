import { useEffect, useRef, useState } from "preact/hooks";
import type { FileQuery, Folder } from "../../core/api/web/files.ts";
import { bearer, CallError } from "../api/request.ts";
import { isUnconfirmed } from "../confirm/use-code.tsx";
import { sentenceOf } from "../parts/notice.tsx";
import { shownName } from "../text/shown-name.ts";
import { countText, sizeText } from "../text/size.ts";
import { uploadFile } from "./upload-file.ts";
import { type Outcome, shownOutcomes, unsent } from "./upload-outcomes.ts";

/** The files of a host, and what a code has confirmed for them. */
export type HostFiles = Pick<FileQuery, "node" | "login"> & { readonly confirmation?: string };

export interface UploadsFacts {
  readonly place: HostFiles;
  /** Where files go. Undefined: none can be sent yet. */
  readonly folder: Folder | undefined;
  /** Something was stored. */
  readonly stored: () => void;
  /** Nothing more is sent until a code confirms it. */
  readonly refused: (error: Error) => void;
}

/** Sends files to a folder, one after the other. */
export function Uploads(facts: UploadsFacts) {
  const { now, outcomes, asks, start, answer, cancel } = useUploads(facts);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const files = new FormData(event.currentTarget as HTMLFormElement).getAll("file");
    start(files.filter((file) => file instanceof File && file.name !== "") as File[]);
  };
  return (
    <section aria-label="Files to send">
      {asks !== undefined ? (
        <div role="alert">
          <p>
            <strong>{shownName(asks)}</strong> exists there already.
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
      ) : now !== undefined ? (
        <p class="buttons">
          <progress aria-label={`Upload of ${now.file.name}`} max={now.file.size} value={now.done} />
          <span>
            {now.file.name}: {sizeText(now.done)} of {sizeText(now.file.size)}
            {now.left > 0 && `, then ${countText(now.left, "more file")}`}
          </span>
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        </p>
      ) : (
        <form class="folder-place" onSubmit={submit}>
          <label class="field">
            <span>Send files to this folder</span>
            <input type="file" name="file" multiple required />
          </label>
          <button type="submit" disabled={facts.folder === undefined}>
            Send
          </button>
        </form>
      )}
      {shownOutcomes(outcomes).map(({ text, is }, at) => (
        <p key={`${at} ${text}`} class={is === "failed" ? "problem" : ""} role={is === "failed" ? "alert" : "status"}>
          {text}
        </p>
      ))}
    </section>
  );
}

interface Now {
  readonly file: File;
  readonly done: number;
  /** Files after this one. */
  readonly left: number;
}

/** One upload at a time; all end with the dialog. `cancel` ends those that wait, too. */
function useUploads({ place, folder, stored, refused }: UploadsFacts) {
  const [now, setNow] = useState<Now>();
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const [asks, setAsks] = useState<string>();
  const running = useRef<AbortController>(undefined);
  const answering = useRef<(replace: boolean) => void>(undefined);
  useEffect(
    () => () => {
      running.current?.abort();
      answering.current?.(false);
    },
    [],
  );
  const question = async (name: string): Promise<boolean> => {
    setAsks(name);
    const isReplaced = await new Promise<boolean>((resolve) => {
      answering.current = resolve;
    });
    setAsks(undefined);
    return isReplaced;
  };
  const send = async (file: File, into: Folder, life: AbortController): Promise<Outcome> => {
    const { name, size } = file;
    const progress = (done: number): void => setNow((before) => before && { ...before, done });
    const attempt = async (replace: boolean): Promise<string> => {
      const ask = { ...place, folder: into.path, ...bytesOf(into), name, size, replace };
      return await uploadFile({ file, ask, token: bearer.value ?? "", progress, signal: life.signal });
    };
    try {
      const path = await attempt(false).catch(async (thrown: unknown) => {
        if (!(thrown instanceof CallError) || thrown.code !== "already_exists") throw thrown;
        return (await question(name)) ? await attempt(true) : undefined;
      });
      return path === undefined ? { text: `${shownName(name)} was not sent.`, is: "kept" } : { text: `${shownName(path)} is stored.`, is: "stored" };
    } catch (thrown) {
      if (!isUnconfirmed(thrown)) return { text: sentenceOf(thrown), is: "failed" };
      refused(thrown);
      life.abort();
      return { text: `${shownName(name)} was not sent.`, is: "failed" };
    }
  };
  const start = async (files: readonly File[]): Promise<void> => {
    const life = new AbortController();
    running.current = life;
    setOutcomes([]);
    const add = (outcome: Outcome): void => setOutcomes((before) => [...before, outcome]);
    let left = files.length;
    for (const file of files) {
      if (folder === undefined || life.signal.aborted) break;
      left -= 1;
      setNow({ file, done: 0, left });
      add(await send(file, folder, life));
    }
    if (left > 0) add(unsent(left));
    setNow(undefined);
    stored();
  };
  const answer = (replace: boolean): void => answering.current?.(replace);
  return { now, outcomes, asks, start: (files: readonly File[]) => void start(files), answer, cancel: () => running.current?.abort() };
}

/** A path with the sign for bytes that are not UTF-8 is not the folder's. An earlier proxy knows no bytes: they are sent where they are needed. */
function bytesOf({ path, bytes }: Folder): { readonly bytes?: string } {
  return path.includes("\ufffd") ? { bytes } : {};
}
