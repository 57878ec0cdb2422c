import { stringify } from "yaml";
import type { z } from "zod";
import type { AnyResource } from "../../../../core/api/web/documents.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { ofKind } from "./resource-routes.ts";

/** A document that is not stored, in one of two forms. */
export interface SentDocument {
  readonly yaml: string | undefined;
  readonly json: AnyResource | undefined;
}

/** The document that a preview is about. Throws `invalid` for neither form, both, and for what could not be stored. */
export async function sentDocument<T>(
  { kind, schema }: { readonly kind: string; readonly schema: z.ZodType<T> },
  { yaml, json }: SentDocument,
  read: (yaml: string) => Promise<AnyResource>,
): Promise<T> {
  if ((yaml === undefined) === (json === undefined)) throw new PlatformError("invalid", "send the document either as yaml or as JSON");
  const parsed = schema.safeParse(json ?? ofKind(kind, await read(yaml ?? "")));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new PlatformError("invalid", `${issue?.path.join(".") || "the document"}: ${issue?.message ?? `is not a ${kind}`}`);
}

/** The text of a document, as the editor shows it. */
export function yamlOf(document: unknown): string {
  return stringify(document, { lineWidth: 0 });
}
