/** What a form beside a text knows. Its document is that of a text which was read, or what the reader made of it. */
export interface BesideState<Document, Preview> {
  /** The last answer, and the text that it is for. */
  readonly read?: { readonly yaml: string; readonly preview: Preview } | undefined;
  /** What the reader made of the document of the text `of`, which that text does not have yet. */
  readonly edited?: { readonly of: string; readonly document: Document } | undefined;
}

/** A question to the API: about the text, or about what the form made of it. */
interface BesideQuestion<Document> {
  readonly yaml: string;
  readonly document: Document | undefined;
}

/** Whether the form shows the document of this text: only then may it be edited, so that it never overwrites another text. Pure. */
export function isRead<Document, Preview>({ read }: BesideState<Document, Preview>, yaml: string): boolean {
  return read?.yaml === yaml;
}

/** What the form made of this text, and the text does not have yet. An edit of an earlier text does not count. Pure. */
export function editOf<Document, Preview>({ edited }: BesideState<Document, Preview>, yaml: string): Document | undefined {
  return edited?.of === yaml ? edited.document : undefined;
}

/** The state after an edit in the form; the same one unless the form shows this text. Pure. */
export function withEdit<Document, Preview>(
  state: BesideState<Document, Preview>,
  { yaml, document }: { readonly yaml: string; readonly document: Document },
): BesideState<Document, Preview> {
  return isRead(state, yaml) ? { ...state, edited: { of: yaml, document } } : state;
}

/** The state and the text after an answer. One that is late, as the text has changed since its question, changes nothing. Pure. */
export function withAnswer<Document, Preview extends { readonly yaml: string }>(
  state: BesideState<Document, Preview>,
  { asked, yaml, preview }: { readonly asked: BesideQuestion<Document>; readonly yaml: string; readonly preview: Preview },
): { readonly state: BesideState<Document, Preview>; readonly yaml: string } {
  if (asked.yaml !== yaml) return { state, yaml };
  const next = asked.document === undefined ? yaml : preview.yaml;
  // An edit that was made meanwhile began with what was asked about.
  const edit = editOf(state, yaml);
  const isLater = edit !== undefined && edit !== asked.document;
  return { state: { read: { yaml: next, preview }, edited: isLater ? { of: next, document: edit } : undefined }, yaml: next };
}

/** Whether a question that failed with this code of an error is asked again: it is not the document's fault. Pure. */
export function isAskedAgain(code: string | undefined): boolean {
  return code === "unavailable" || code === "timeout" || code === "internal" || code === "limit";
}
