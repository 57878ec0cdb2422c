import { closeSync, mkdtempSync, openSync, rmdirSync, statSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRawAsset, isSea } from "node:sea";

/*
 * Part of the executable, not of the build: provides its native addons. A package may also ship them as
 * files, for hosts where temporary folders do not allow execution.
 */

/** Where packages put the addons; files here are used when only root can have written them. */
const shipped = "/usr/lib/platform";
/** Addons of this process by name: each part of the executable has a copy of this file. */
const held = sharedMap();

/** `pty.node`, `sshcrypto.node`, `memory.node`, `host.node` or `process.node`, loaded once. Throws when no folder allows loading it. */
export function loadNative(name: string): unknown {
  const found = held.get(name) ?? load(name);
  held.set(name, found);
  return found;
}

function sharedMap(): Map<string, unknown> {
  const shared = globalThis as { [key: symbol]: Map<string, unknown> | undefined };
  const key = Symbol.for("platform.addons");
  shared[key] ??= new Map();
  return shared[key];
}

function load(name: string): unknown {
  if (name === "sshcrypto.node" && process.env.PLATFORM_SSH_CRYPTO === "javascript") throw new Error("turned off by PLATFORM_SSH_CRYPTO");
  // While the build makes the code cache: loaded, never called.
  if (!isSea()) return {};
  const file = join(shipped, name);
  if (isRoots(shipped) && isRoots(file)) return dlopen(file);
  const failures: unknown[] = [];
  for (const folder of temporaryFolders()) {
    try {
      return loadFrom(folder, name);
    } catch (failure) {
      failures.push(failure);
    }
  }
  throw new AggregateError(failures, `could not load ${name} from any temporary folder; install it in ${shipped}`);
}

/** Folders for an executable file; any of them may be mounted without execution. */
export function temporaryFolders(): readonly string[] {
  return [tmpdir(), "/dev/shm", "/run"];
}

function isRoots(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.uid === 0 && (found.mode & 0o022) === 0;
}

/** The file is unlinked before it is loaded: it cannot be replaced, and a crash leaves nothing behind. */
function loadFrom(folder: string, name: string): unknown {
  const own = mkdtempSync(join(folder, "platform-"));
  const path = join(own, name);
  let fd: number | undefined;
  try {
    fd = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    const bytes = new Uint8Array(getRawAsset(name));
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    // The loader knows libraries by their path, and returns the earlier one: each needs a path of its own although a number comes again.
    return dlopen(`/proc/self/${"./".repeat(held.size + 1)}fd/${fd}`);
  } finally {
    if (fd !== undefined) closeSync(fd);
    rmdirSync(own);
  }
}

function dlopen(path: string): unknown {
  const module = { exports: {} };
  process.dlopen(module, path);
  return module.exports;
}
