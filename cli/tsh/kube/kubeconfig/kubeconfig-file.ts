import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { errorText, PlatformError } from "../../../../core/errors/platform-error.ts";
import { editPrivateFile, readEdited } from "../../../edit-private-file.ts";
import { withFileLock } from "../../../file-lock.ts";
import type { CliIo } from "../../../io.ts";
import { makePrivateFolder } from "../../../make-private-folder.ts";
import { editKubeconfig } from "./edit-kubeconfig.ts";
import type { KubeconfigEdit } from "./kubeconfig-edit.ts";
import { type Kubeconfig, listNames, parseKubeconfig } from "./parse-kubeconfig.ts";

/** Time limit for the lock, ms: kubectl holds it for the time of one write. */
const lockMs = 10_000;

/** The files that kubectl reads, the first one first: those of KUBECONFIG, or ~/.kube/config. Entries of an earlier file win. */
export function kubeconfigPaths(env: CliIo["env"]): readonly [string, ...string[]] {
  const [first, ...others] = (env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  return first === undefined ? [join(env.HOME || homedir(), ".kube", "config")] : [first, ...others.filter((path) => path !== first)];
}

/** Contents of a kubeconfig; a missing one is empty. Throws `invalid`. */
export async function readKubeconfig(path: string): Promise<Kubeconfig> {
  return parseKubeconfig(decoded(await readEdited(path), path), path).config;
}

export interface ChangeOptions {
  /** Removes the file when no entry is left in it. */
  readonly removesEmpty?: boolean;
}

/**
 * Changes a kubeconfig (0600), atomically and under the lock of kubectl (`<path>.lock`). `decide` may be called several times. Returns whether the file
 * changed. Throws `invalid`, `timeout`, `conflict`, and what `decide` throws.
 */
export async function changeKubeconfig(
  path: string,
  decide: (config: Kubeconfig) => KubeconfigEdit,
  { removesEmpty = false }: ChangeOptions = {},
): Promise<boolean> {
  await makePrivateFolder(dirname(path));
  const change = (latin1: string): string => {
    const text = decoded(latin1, path);
    return Buffer.from(editKubeconfig(text, decide(parseKubeconfig(text, path).config), path)).toString("latin1");
  };
  const work = async (): Promise<boolean> => {
    const isChanged = await editPrivateFile(path, change);
    if (removesEmpty && isEmpty(await readKubeconfig(path))) await removeFile(path);
    return isChanged;
  };
  return await withFileLock(`${path}.lock`, work, lockMs);
}

function isEmpty(config: Kubeconfig): boolean {
  return listNames.every((list) => config[list].length === 0);
}

async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true }).catch((cause: unknown) => {
    throw new PlatformError("invalid", `could not remove ${path}: ${errorText(cause)}`, { cause, hint: "remove it; it holds no entry any more" });
  });
}

function decoded(latin1: string, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(latin1, "latin1"));
  } catch (cause) {
    throw new PlatformError("invalid", `${path} is not a kubeconfig: it is not UTF-8`, { cause });
  }
}
