import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CallError, call, logins } from "../api/request.ts";
import { sentenceOf } from "../parts/notice.tsx";
import { type BesideState, editOf, isAskedAgain, isRead, withAnswer, withEdit } from "../text/beside-state.ts";
import type { BesideFacts } from "./document-editor.tsx";

/** Time after the last change until it is sent, ms. */
const restMs = 400;
/** Time until a question is asked again that had no answer, ms. */
const againMs = 3_000;

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
  /** Whether the document is that of the text as it is now: the form is disabled otherwise. */
  readonly isRead: boolean;
  /** The last answer. */
  readonly preview: Preview | undefined;
  /** Why the text, or what the form made of it, cannot be saved. */
  readonly failure: string | undefined;
  readonly edit: (next: Document) => void;
}

/**
 * A document as a form beside its text, each of which follows the other: the API reads and writes YAML, and answers what it would lead to. The form is
 * disabled until the text has been read, which cannot take the focus from one of its fields: the reader is in the text then.
 */
export function useBeside<Document, Preview extends { readonly yaml: string }>(
  { yaml, change, hold }: BesideFacts,
  { path, documentOf, bodyOf, more = {} }: BesideAsk<Document, Preview>,
): Beside<Document, Preview> {
  const [state, setState] = useState<BesideState<Document, Preview>>({});
  const [failure, setFailure] = useState<string>();
  // As of now, for answers and edits between two renderings.
  const now = useRef({ yaml, state });
  now.current = { yaml, state };
  const put = (next: BesideState<Document, Preview>): void => {
    now.current = { ...now.current, state: next };
    setState(next);
  };
  const edited = editOf(state, yaml);
  useLayoutEffect(() => hold(edited !== undefined), [edited !== undefined]);
  useEffect(() => {
    const stop = new AbortController();
    const asked = { yaml, document: edited };
    const send = async (): Promise<void> => {
      const body = { ...(edited === undefined ? { yaml } : bodyOf(edited)), ...more };
      const preview = await call<Preview>(path, { method: "POST", body, signal: stop.signal });
      if (stop.signal.aborted) return;
      const after = withAnswer(now.current.state, { asked, yaml: now.current.yaml, preview });
      put(after.state);
      setFailure(undefined);
      if (after.yaml !== now.current.yaml) change(after.yaml);
    };
    const failed = (thrown: unknown): void => {
      if (stop.signal.aborted) return;
      setFailure(sentenceOf(thrown));
      if (thrown instanceof CallError && isAskedAgain(thrown.code)) timer = setTimeout(ask, againMs);
    };
    const ask = (): void => void send().catch(failed);
    let timer = setTimeout(ask, restMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [yaml, edited, logins.value, JSON.stringify(more)]);
  const edit = (document: Document): void => put(withEdit(now.current.state, { yaml: now.current.yaml, document }));
  const { preview } = state.read ?? {};
  return { document: edited ?? (preview && documentOf(preview)), isRead: isRead(state, yaml), preview, failure, edit };
}
