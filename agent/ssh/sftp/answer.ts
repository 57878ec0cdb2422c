import type { Request } from "../../../core/sftp/request.ts";
import type { Response } from "../../../core/sftp/response.ts";
import { extended } from "./extended-requests.ts";
import * as file from "./file-requests.ts";
import * as folder from "./folder-requests.ts";
import * as path from "./path-requests.ts";
import { type Reply, replyStatus } from "./reply.ts";
import type { SftpContext } from "./sftp-context.ts";
import { statusOf } from "./status-of.ts";

/** Performs a request with the rights of this process, and answers it. `data` is valid until the next call. */
export function answer(context: SftpContext, request: Request): Response {
  try {
    return { ...perform(context, request), id: request.id };
  } catch (thrown) {
    return { type: "status", id: request.id, ...statusOf(thrown) };
  }
}

function perform(context: SftpContext, request: Request): Reply {
  switch (request.type) {
    case "read":
      return file.read(context, request);
    case "write":
      return file.write(context, request);
    case "open":
      return file.open(context, request);
    case "close":
      return file.close(context, request);
    case "fstat":
      return file.fstat(context, request);
    case "fsetstat":
      return file.fsetstat(context, request);
    case "opendir":
      return folder.opendir(context, request);
    case "readdir":
      return folder.readdir(context, request);
    case "extended":
      return extended(context, request);
    case "unknown":
      return replyStatus("unsupported", "Operation unsupported");
    case "lstat":
      return path.lstat(context, request);
    case "stat":
      return path.stat(context, request);
    case "setstat":
      return path.setstat(context, request);
    case "remove":
      return path.remove(context, request);
    case "mkdir":
      return path.mkdir(context, request);
    case "rmdir":
      return path.rmdir(context, request);
    case "realpath":
      return path.realpath(context, request);
    case "readlink":
      return path.readlink(context, request);
    case "rename":
      return path.rename(context, request);
    case "symlink":
      return path.symlink(context, request);
  }
}
