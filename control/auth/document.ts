import type { z } from "zod";
import { resourceProblems } from "../../core/config/resource-problems.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Entry, Expectation, Put } from "../storage/storage.ts";

/** Stored form of resources (roles, users, tokens, nodes): JSON without the fields that the store or the service adds. */
export interface Document {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly expires?: string | undefined; readonly revision?: string | undefined };
}

/** `/lock/` holds the failed logins of user names. */
const lockFolder = "access_lock";

/** Create (neither), create or replace (`overwrite`), replace (`mustExist`). */
export interface PutMode {
  readonly overwrite: boolean;
  readonly mustExist: boolean;
}

/** The author of a change, for the audit log. */
export interface Actor {
  readonly name: string;
  readonly address: string;
}

/** The document of a stored entry, with its revision. */
export function fromEntry<T extends Document>(schema: z.ZodType<T>, entry: Entry): T {
  const document = checkDocument(schema, JSON.parse(entry.value));
  return { ...document, metadata: { ...document.metadata, revision: entry.revision } };
}

/** The write of a document; a revision that the document names must be the stored one. */
export function toPut(document: Document, mode: PutMode): Put {
  const { revision, ...metadata } = document.metadata;
  return {
    key: documentKey(document.kind, metadata.name),
    value: JSON.stringify({ ...document, metadata, status: undefined }),
    expires: metadata.expires === undefined ? undefined : new Date(metadata.expires),
    expect: expectationOf(mode, revision),
  };
}

export function documentKey(kind: string, name: string): string {
  return `/${kind === "lock" ? lockFolder : kind}/${encodeURIComponent(name)}`;
}

function expectationOf(mode: PutMode, revision: string | undefined): Expectation | undefined {
  if (revision !== undefined && revision !== "" && (mode.overwrite || mode.mustExist)) return { revision };
  if (mode.mustExist) return "present";
  return mode.overwrite ? undefined : "absent";
}

/** Throws `invalid` that names every wrong field. */
export function checkDocument<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const wrong = resourceProblems(schema, parsed.error, value).map(({ path, text }) => `${path.join(".") || "document"}: ${text}`);
  throw new PlatformError("invalid", wrong.slice(0, 8).join("; "));
}

/** Storage errors in terms of the resource. */
export async function named<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    const options = { cause: thrown };
    if (thrown.code === "already_exists")
      throw new PlatformError("already_exists", `${what} already exists`, {
        ...options,
        hint: "choose another name, or change the one that is there",
      });
    if (thrown.code === "not_found") throw new PlatformError("not_found", `${what} does not exist`, options);
    if (thrown.code === "conflict") {
      throw new PlatformError("conflict", `${what} was changed by someone else meanwhile`, {
        ...options,
        hint: "read it again and repeat the change",
      });
    }
    throw thrown;
  }
}
