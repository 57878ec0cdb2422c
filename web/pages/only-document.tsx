import { useState } from "preact/hooks";
import { CallError, call } from "../api/request.ts";
import { can } from "../api/session.ts";
import { notifyError } from "../parts/notice.tsx";
import { DocumentEditor, type DocumentEditorFacts } from "./document-editor.tsx";

export interface OnlyDocumentFacts {
  readonly kind: string;
  /** Name of the only document of this kind. */
  readonly name: string;
  readonly title: string;
  /** YAML that a new one begins with. */
  readonly example: string;
  /** Shown beside the text. */
  readonly beside?: DocumentEditorFacts["beside"];
  readonly saved: () => void;
}

/** A button that opens the only document of a kind in the editor, or a new one while there is none. */
export function OnlyDocument({ kind, name, title, example, beside, saved }: OnlyDocumentFacts) {
  const [open, setOpen] = useState<"stored" | "new">();
  if (!can(kind, "read")) return null;
  const look = async (): Promise<void> => {
    try {
      await call(`/resources/${kind}/${name}`);
      setOpen("stored");
    } catch (thrown) {
      const isMissing = thrown instanceof CallError && thrown.code === "not_found";
      if (isMissing && can(kind, "create")) setOpen("new");
      else notifyError(isMissing ? new Error(`the cluster does not have a ${title.toLowerCase()}`) : thrown);
    }
  };
  const close = (): void => setOpen(undefined);
  const done = (): void => {
    close();
    saved();
  };
  return (
    <>
      <button type="button" onClick={() => void look()}>
        {title}…
      </button>
      {open !== undefined && (
        <DocumentEditor
          kind={kind}
          noun={title.toLowerCase()}
          {...(open === "stored" && { name, title })}
          example={example}
          beside={beside}
          close={close}
          saved={done}
        />
      )}
    </>
  );
}
