import type { Stats } from "node:fs";
import type { Attributes } from "../../../core/sftp/attributes.ts";
import type { Status } from "../../../core/sftp/numbers.ts";
import type { Response } from "../../../core/sftp/response.ts";

type WithoutId<T> = T extends unknown ? Omit<T, "id"> : never;
/** An answer without its request id. */
export type Reply = WithoutId<Response>;

export function replyStatus(status: Status, message: string): Reply {
  return { type: "status", status, message };
}

export const done: Reply = replyStatus("ok", "Success");
export const endOfFile: Reply = replyStatus("end_of_file", "End of file");

/** A list of one name without attributes, as realpath and readlink answer. */
export function replyName(name: Buffer): Reply {
  return { type: "name", files: [{ name, longName: name, attributes: {} }] };
}

export function attributesOf(stats: Stats): Attributes {
  return {
    size: BigInt(stats.size),
    owner: { uid: stats.uid, gid: stats.gid },
    mode: stats.mode,
    times: { accessed: seconds(stats.atimeMs), modified: seconds(stats.mtimeMs) },
  };
}

/** Times before 1970 and after 2106 do not fit. */
function seconds(ms: number): number {
  return Math.min(Math.max(Math.floor(ms / 1000), 0), 0xffff_ffff);
}
