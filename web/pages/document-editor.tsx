import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { useLoaded } from "../api/load.ts";
import { CallError, call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { notify, sentenceOf } from "../parts/notice.tsx";
import { Answer } from "../parts/page.tsx";
import { hasComment } from "../text/has-comment.ts";

export interface DocumentEditorFacts {
  readonly kind: string;
  readonly noun: string;
  /** Left out: a new one. */
  readonly name?: string;
  /** Default: its name. */
  readonly title?: string;
  /** YAML that a new one begins with. */
  readonly example?: string | undefined;
  /** Shown beside the text. */
  readonly beside?: ComponentType<BesideFacts> | undefined;
  /** Buttons at the foot, for what may be done with it besides a change of its text. */
  readonly actions?: ComponentChildren;
  readonly close: () => void;
  readonly saved: () => void;
}

/** The text that is edited, for what stands beside it. */
export interface BesideFacts {
  readonly yaml: string;
  readonly change: (yaml: string) => void;
  /** While true the text is not what is meant, and cannot be saved. */
  readonly hold: (isHeld: boolean) => void;
}

/** One resource as YAML. A change that another admin made meanwhile is reported, not overwritten: the text carries the revision. */
export function DocumentEditor({
  kind,
  noun,
  name,
  title = name ?? `New ${noun}`,
  example = "",
  beside,
  actions,
  close,
  saved,
}: DocumentEditorFacts) {
  const path = `/documents/${kind}/${encodeURIComponent(name ?? "")}`;
  const load = async (signal: AbortSignal): Promise<string> => (name === undefined ? example : (await call<{ yaml: string }>(path, { signal })).yaml);
  const loaded = useLoaded(`${kind}/${name ?? ""}`, load, { isKept: true });
  const [isChanged, setChanged] = useState(false);
  return (
    <Dialog title={title} close={close} wide isKept={isChanged}>
      <Answer of={loaded}>
        {(yaml) => <Editor key={yaml} {...{ kind, name, yaml, beside, actions, close, saved }} reload={loaded.reload} changed={setChanged} />}
      </Answer>
    </Dialog>
  );
}

function CommentNote() {
  return (
    <p class="quiet" role="status">
      Comments (#) are not stored: the cluster keeps the fields alone, and a change in a form removes them from this text.
    </p>
  );
}

interface EditorFacts {
  readonly kind: string;
  readonly name: string | undefined;
  readonly yaml: string;
  readonly beside: DocumentEditorFacts["beside"];
  readonly actions: ComponentChildren;
  readonly reload: () => void;
  /** Called with whether the text differs from the stored one. */
  readonly changed: (isChanged: boolean) => void;
  readonly close: () => void;
  readonly saved: () => void;
}

function Editor({ kind, name, yaml, beside: Beside, actions, reload, changed, close, saved }: EditorFacts) {
  const id = useId();
  const [text, setText] = useState(yaml);
  const [failure, setFailure] = useState<Error>();
  const [isHeld, hold] = useState(false);
  useEffect(() => changed(text !== yaml), [text, yaml]);
  const mayChange = can(kind, name === undefined ? "create" : "update");
  const save = async (): Promise<void> => {
    try {
      const made = await call<{ name: string }>(`/documents/${kind}`, { method: name === undefined ? "POST" : "PUT", body: { yaml: text } });
      notify(`${made.name} has been saved.`);
      saved();
    } catch (thrown) {
      setFailure(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  };
  return (
    <>
      <div class={Beside === undefined ? "" : "beside"}>
        <div>
          <label class="hidden" for={id}>
            Document in YAML
          </label>
          <textarea
            id={id}
            class="code document"
            spellcheck={false}
            readOnly={!mayChange}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          {hasComment(text) && <CommentNote />}
        </div>
        {Beside !== undefined && <Beside yaml={text} change={setText} hold={hold} />}
      </div>
      {failure !== undefined && (
        <div class="problem" role="alert">
          <span>{sentenceOf(failure)}</span>
          {failure instanceof CallError && failure.code === "conflict" && (
            <button type="button" onClick={reload}>
              Load the stored one, and lose my changes
            </button>
          )}
        </div>
      )}
      <p class="buttons">
        {actions !== undefined && <span class="actions">{actions}</span>}
        <button type="button" onClick={close}>
          Close
        </button>
        {mayChange && (
          <button type="button" class="primary" disabled={isHeld || (text === yaml && name !== undefined)} onClick={() => void save()}>
            Save
          </button>
        )}
      </p>
    </>
  );
}
