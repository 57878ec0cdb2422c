import { Reader } from "../../../core/bytes/reader.ts";
import { string } from "../../../core/bytes/writer.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { realPath } from "./real-path.ts";
import { type Reply, replyName } from "./reply.ts";
import type { SftpContext } from "./sftp-context.ts";

/** `~` and `~user` at the start; other paths are relative to the home, where the session began. */
export function expandPath({ names, home }: SftpContext, reader: Reader): Reply {
  const path = reader.string();
  const tilde = /^~([^/]*)/.exec(path.toString("latin1"));
  if (tilde === null) return replyName(realPath(path.length === 0 ? Buffer.from(".") : path));
  const user = Buffer.from(tilde[1] as string, "latin1").toString();
  const folder = user === "" ? home : names.home(user);
  if (folder === undefined) throw new PlatformError("not_found", `No such user: ${user}`);
  return replyName(realPath(Buffer.concat([Buffer.from(folder), path.subarray(tilde[0].length)])));
}

export function homeDirectory({ names, home }: SftpContext, reader: Reader): Reply {
  const user = reader.string().toString();
  const folder = user === "" ? home : names.home(user);
  if (folder === undefined) throw new PlatformError("not_found", `No such user: ${user}`);
  return replyName(Buffer.from(folder));
}

export function namesById({ names }: SftpContext, reader: Reader): Reply {
  const told = (ids: Buffer, name: (id: number) => string | undefined): Buffer => {
    const list = new Reader(ids);
    const parts: Buffer[] = [];
    while (!list.done) parts.push(string(name(list.u32()) ?? ""));
    return string(Buffer.concat(parts));
  };
  const users = told(reader.string(), (id) => names.user(id));
  return { type: "extended_reply", data: Buffer.concat([users, told(reader.string(), (id) => names.group(id))]) };
}
