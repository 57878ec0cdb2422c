import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";

/**
 * A kind of document: what is stored, audited, printed by `tctl --format=json` or shown by the Web UI has one schema, and travels as its JSON in a
 * text field of a message (docs/decisions/0037-documents-on-the-wire.md).
 */
export interface DocumentKind<T> {
  /** As in the field's option `document` in auth.proto. */
  readonly name: string;
  readonly schema: z.ZodType<T>;
  /** The document in error messages: "a role". */
  readonly what: string;
  /** Maximum size of the JSON, bytes. */
  readonly maxBytes: number;
}

/** Most that the storage takes for one key, and the auth service for one request. */
const usualBytes = 1_000_000;

export function documentKind<T>(
  name: string,
  schema: z.ZodType<T>,
  { what, maxBytes = usualBytes }: { what: string; maxBytes?: number },
): DocumentKind<T> {
  return { name, schema, what, maxBytes };
}

/** The JSON of a document. Throws `invalid` when it is too long. */
export function writeDocument<T>(kind: DocumentKind<T>, value: NoInfer<Sent<T>>): string {
  const json = JSON.stringify(value);
  checkSize(kind, json);
  return json;
}

export function writeDocuments<T>(kind: DocumentKind<T>, values: readonly NoInfer<Sent<T>>[]): string[] {
  return values.map((value) => writeDocument(kind, value));
}

/** The document from a peer's JSON. Throws `invalid` when it is too long, or with the place of the mistake, and quotes nothing. */
export function readDocument<T>(kind: DocumentKind<T>, json: string): T {
  checkSize(kind, json);
  return parseJsonAs(kind.schema, json, kind.what);
}

export function readDocuments<T>(kind: DocumentKind<T>, documents: readonly string[]): T[] {
  return documents.map((json) => readDocument(kind, json));
}

/** What may be sent: the lists in it may be read-only. */
type Sent<T> = T extends readonly (infer One)[] ? readonly Sent<One>[] : T extends object ? { readonly [Key in keyof T]: Sent<T[Key]> } : T;

function checkSize({ what, maxBytes }: DocumentKind<unknown>, json: string): void {
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw new PlatformError("invalid", `${what} has ${bytes} bytes; ${maxBytes} are allowed`);
}

/** A resource of any kind: its own schema is checked by the auth service, and by readers that use more than its head. */
export const resourceDocument = documentKind(
  "resource",
  z.looseObject({
    kind: z.string().max(64),
    // For their places: `tctl get` prints fields in the order of their schema.
    sub_kind: z.string().max(64).optional(),
    version: z.string().max(64).optional(),
    metadata: z.looseObject({ name: z.string().max(64) }),
  }),
  { what: "the resource" },
);

/** The JSON of a resource. Throws `invalid` when it is too long. */
export function writeResource(resource: { readonly kind: string; readonly metadata: { readonly name: string } }): string {
  return writeDocument(resourceDocument, { ...resource });
}

/** The value of a text that a peer or an admin has written; `what` begins the sentence of the error. Throws PlatformError `invalid`. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PlatformError("invalid", `${what} is not JSON`, { cause });
  }
}

/** The same, checked against the schema. The message has the position of the error, and quotes nothing. */
export function parseJsonAs<T>(schema: z.ZodType<T>, text: string, what: string): T {
  const parsed = schema.safeParse(parseJson(text, what));
  if (parsed.success) return parsed.data;
  throw new PlatformError("invalid", `${what} is malformed at ${parsed.error.issues[0]?.path.join(".") || "the top"}`);
}
