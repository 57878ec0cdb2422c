import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/request.ts";
import { sentenceOf } from "../parts/notice.tsx";
import type { BesideFacts } from "./document-editor.tsx";

/** Time after the last change until it is sent, ms. */
const restMs = 400;

/** What a form beside a text asks the API. */
export interface BesideAsk<Document, Preview> {
  readonly path: string;
  /** The document in an answer, and in what is sent in place of the text. */
  readonly documentOf: (preview: Preview) => Document;
  readonly bodyOf: (document: Document) => Readonly<Record<string, unknown>>;
  /** Sent with every question. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export interface Beside<Document, Preview> {
  /** Undefined until the text could be read once. */
  readonly document: Document | undefined;
  /** The last answer. */
  readonly preview: Preview | undefined;
  /** Why the text, or what the form made of it, cannot be saved. */
  readonly failure: string | undefined;
  readonly edit: (next: Document) => void;
}

/** A document as a form beside its text, each of which follows the other: the API reads and writes YAML, and answers what it would lead to. */
export function useBeside<Document, Preview extends { readonly yaml: string }>(
  { yaml, change, hold }: BesideFacts,
  { path, documentOf, bodyOf, more = {} }: BesideAsk<Document, Preview>,
): Beside<Document, Preview> {
  const [preview, setPreview] = useState<Preview>();
  const [failure, setFailure] = useState<string>();
  /** The form's document, which the text does not have yet. */
  const [edited, setEdited] = useState<Document>();
  const text = useRef(yaml);
  useEffect(() => {
    // The text was changed after the form: it counts.
    const ofForm = text.current === yaml ? edited : undefined;
    text.current = yaml;
    const stop = new AbortController();
    const send = async (): Promise<void> => {
      const body = { ...(ofForm === undefined ? { yaml } : bodyOf(ofForm)), ...more };
      const answer = await call<Preview>(path, { method: "POST", body, signal: stop.signal });
      setPreview(answer);
      setFailure(undefined);
      setEdited(undefined);
      hold(false);
      if (ofForm === undefined) return;
      text.current = answer.yaml;
      change(answer.yaml);
    };
    const timer = setTimeout(() => void send().catch((thrown: unknown) => stop.signal.aborted || setFailure(sentenceOf(thrown))), restMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [yaml, edited, JSON.stringify(more)]);
  const edit = (next: Document): void => {
    hold(true);
    setEdited(next);
  };
  return { document: edited ?? (preview && documentOf(preview)), preview, failure, edit };
}
