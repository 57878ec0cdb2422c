import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
} from "node:fs";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { OfPath, RequestOf } from "../../../core/sftp/request.ts";
import { changeAll } from "./change-all.ts";
import { attributesOf, done, type Reply, replyName } from "./reply.ts";
import type { SftpContext } from "./sftp-context.ts";

export function stat(_: SftpContext, { path }: OfPath): Reply {
  return { type: "attributes", attributes: attributesOf(statSync(path)) };
}

export function lstat(_: SftpContext, { path }: OfPath): Reply {
  return { type: "attributes", attributes: attributesOf(lstatSync(path)) };
}

export function setstat({ reporter }: SftpContext, { path, attributes }: RequestOf<"setstat">): Reply {
  return reporter.tell({ action: "setstat", path }, () =>
    changeAll(attributes, {
      size: (size) => truncateSync(path, size),
      mode: (mode) => chmodSync(path, mode),
      times: (accessed, modified) => utimesSync(path, accessed, modified),
      owner: (uid, gid) => chownSync(path, uid, gid),
    }),
  );
}

export function remove({ reporter }: SftpContext, { path }: OfPath): Reply {
  return reporter.tell({ action: "remove", path }, () => {
    unlinkSync(path);
    return done;
  });
}

export function mkdir({ reporter }: SftpContext, { path, attributes }: RequestOf<"mkdir">): Reply {
  return reporter.tell({ action: "mkdir", path }, () => {
    mkdirSync(path, (attributes.mode ?? 0o777) & 0o7777);
    return done;
  });
}

export function rmdir({ reporter }: SftpContext, { path }: OfPath): Reply {
  return reporter.tell({ action: "rmdir", path }, () => {
    rmdirSync(path);
    return done;
  });
}

/** Never replaces: posix-rename@openssh.com does. A file gets its second name before it loses the first, so that it is atomic. */
export function rename({ reporter }: SftpContext, { path, target }: RequestOf<"rename">): Reply {
  return reporter.tell({ action: "rename", path, target }, () => {
    if (lstatSync(path).isFile()) moveByLink(path, target);
    else moveIfFree(path, target);
    return done;
  });
}

/** Errors of file systems without hard links. */
const noLinks = new Set(["EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EPERM", "EMLINK", "EXDEV"]);

function moveByLink(path: Buffer, target: Buffer): void {
  try {
    linkSync(path, target);
  } catch (thrown) {
    if (!noLinks.has((thrown as NodeJS.ErrnoException).code ?? "")) throw thrown;
    moveIfFree(path, target);
    return;
  }
  unlinkSync(path);
}

function moveIfFree(path: Buffer, target: Buffer): void {
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) throw new PlatformError("already_exists", "File exists");
  renameSync(path, target);
}

export function readlink(_: SftpContext, { path }: OfPath): Reply {
  return replyName(readlinkSync(path, { encoding: "buffer" }));
}

export function symlink({ reporter }: SftpContext, { path, target }: RequestOf<"symlink">): Reply {
  return reporter.tell({ action: "symlink", path, target }, () => {
    symlinkSync(target, path);
    return done;
  });
}

export function realpath(_: SftpContext, { path }: OfPath): Reply {
  return replyName(realPath(path.length === 0 ? Buffer.from(".") : path));
}

const slash = 0x2f;
/** Maximum links followed, as in the kernel. */
const maxLinks = 40;

/** The absolute path without links and dots. As in OpenSSH, the last part need not exist. Throws the system's error. */
export function realPath(path: Buffer, links = 0): Buffer {
  try {
    return realpathSync.native(path, { encoding: "buffer" });
  } catch (thrown) {
    const { parent, name } = split(path);
    const isDots = name.equals(Buffer.from(".")) || name.equals(Buffer.from(".."));
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT" || name.length === 0 || isDots) throw thrown;
    const folder = realpathSync.native(parent, { encoding: "buffer" });
    const whole = join(folder, name);
    const target = linkTarget(whole);
    if (target === undefined) return whole;
    if (links >= maxLinks) throw thrown;
    return realPath(target[0] === slash ? target : join(folder, target), links + 1);
  }
}

function linkTarget(path: Buffer): Buffer | undefined {
  try {
    return readlinkSync(path, { encoding: "buffer" });
  } catch {
    return undefined;
  }
}

function split(path: Buffer): { parent: Buffer; name: Buffer } {
  let end = path.length;
  while (end > 1 && path[end - 1] === slash) end -= 1;
  const at = path.lastIndexOf(slash, end - 1);
  const parent = at < 0 ? Buffer.from(".") : path.subarray(0, Math.max(at, 1));
  return { parent, name: path.subarray(at + 1, end) };
}

function join(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 1 && folder[0] === slash ? Buffer.concat([folder, name]) : Buffer.concat([folder, Buffer.of(slash), name]);
}
