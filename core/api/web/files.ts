import { z } from "zod";
import { loginText } from "../../resources/metadata.ts";
import { confirmed } from "./confirmations.ts";
import type { TerminalNotice } from "./terminal.ts";

/*
 * Files of a host in the browser. Downloads are `GET /webapi/v1/files/content`. Uploads are the WebSocket `/webapi/v1/files/upload`: binary messages are
 * the file's bytes, text messages are JSON:
 *
 *     browser                    proxy
 *     {"token": …}         ->                         within 4 s
 *     {"folder": …}        ->
 *                          <-    {"type": "ready"}
 *     bytes                <->   {"type": "written", "bytes": …}
 *                          <-    {"type": "stored", "path": …}, or {"type": "error", …}; then it closes
 *
 * Without `stored` the file has its name only if the connection was lost after the last byte; before that, never.
 */

const place = { node: z.string().min(1).max(255), login: loginText };
/** A path on a host. Relative paths begin in the home folder, `~` is it. */
const path = z.string().max(4096);
/** The bytes of an absolute path as base64url: names on a host need not be UTF-8. */
const pathBytes = z
  .string()
  .min(2)
  .max(5464)
  .regex(/^L[w-z\d_-][\w-]*$/, "must be an absolute path as base64url");

/** A file or a folder: by the bytes of its path, as a listing has them, or by its path; else the home folder. */
export const fileQuerySchema = z.strictObject({ ...place, path: path.min(1).optional(), bytes: pathBytes.optional() });
export type FileQuery = z.infer<typeof fileQuerySchema>;

/** A file as it is now. `path`: absolute, without links. */
export const fileFactsSchema = z.object({ path: z.string(), size: z.number().int().min(0) });
export type FileFacts = z.infer<typeof fileFactsSchema>;

/** A file or folder in a listing. `name`: as far as it is UTF-8. `bytes`: of its whole path. */
const folderEntrySchema = z.object({
  name: z.string(),
  bytes: pathBytes,
  /** Of what a link leads to. */
  kind: z.enum(["folder", "file", "other"]),
  size: z.number().int().min(0),
  /** RFC 3339; left out: the host states none. */
  modified: z.string().optional(),
});
export type FolderEntry = z.infer<typeof folderEntrySchema>;

/** A folder as it is now: folders first, then by name. `parent`: bytes of the folder above. `isCut`: it has more entries. */
export const folderSchema = z.object({
  path: z.string(),
  bytes: pathBytes,
  parent: pathBytes.optional(),
  entries: z.array(folderEntrySchema),
  isCut: z.boolean(),
});
export type Folder = z.infer<typeof folderSchema>;

/**
 * A file to store as `name` in `folder` (empty: the home folder), or in the folder with these `bytes`. An existing one of this name is refused unless `replace` is
 * set.
 */
export const uploadAskSchema = z.strictObject({
  ...place,
  folder: path,
  bytes: pathBytes.optional(),
  name: z.string().min(1).max(255),
  size: z.int().min(0),
  replace: z.boolean(),
  ...confirmed,
});
export type UploadAsk = z.infer<typeof uploadAskSchema>;

/** Most bytes that a browser sends beyond those of the last `written`. */
export const uploadWindow = 1_048_576;

export type UploadNotice =
  | { readonly type: "ready" }
  /** Bytes on the host so far. */
  | { readonly type: "written"; readonly bytes: number }
  | { readonly type: "stored"; readonly path: string }
  | Extract<TerminalNotice, { type: "error" }>;
