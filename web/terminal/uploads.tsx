import { useEffect, useRef, useState } from "preact/hooks";
import type { Folder } from "../../core/api/web/files.ts";
import { bearer, CallError } from "../api/request.ts";
import { sentenceOf } from "../parts/notice.tsx";
import { countText, sizeText } from "../text/size.ts";
import { uploadFile } from "./upload-file.ts";

export interface UploadsFacts {
  readonly place: { readonly node: string; readonly login: string };
  /** Where files go. Undefined: none can be sent yet. */
  readonly folder: Folder | undefined;
  /** Something was stored. */
  readonly stored: () => void;
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
            <strong>{asks}</strong> exists there already.
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
      {outcomes.map(({ name, text, isFailure }) => (
        <p key={name} class={isFailure ? "problem" : ""} role={isFailure ? "alert" : "status"}>
          {text}
        </p>
      ))}
    </section>
  );
}

/** How the upload of one file ended. */
interface Outcome {
  readonly name: string;
  readonly text: string;
  readonly isFailure: boolean;
}

interface Now {
  readonly file: File;
  readonly done: number;
  /** Files after this one. */
  readonly left: number;
}

/** Most outcomes that are shown, the last ones. */
const mostShown = 20;

/** One upload at a time; all end with the dialog. `cancel` ends those that wait, too. */
function useUploads({ place, folder, stored }: UploadsFacts) {
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
      return { name, text: path === undefined ? `${name} was not sent.` : `${path} is stored.`, isFailure: false };
    } catch (thrown) {
      return { name, text: sentenceOf(thrown), isFailure: true };
    }
  };
  const start = async (files: readonly File[]): Promise<void> => {
    const life = new AbortController();
    running.current = life;
    setOutcomes([]);
    for (const [at, file] of files.entries()) {
      if (folder === undefined || life.signal.aborted) break;
      setNow({ file, done: 0, left: files.length - at - 1 });
      const outcome = await send(file, folder, life);
      setOutcomes((before) => [...before, outcome].slice(-mostShown));
    }
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
