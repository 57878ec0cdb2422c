import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ErrorCode, errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { HostPort } from "../../../core/transport/host-port.ts";
import { withFileLock } from "../../file-lock.ts";
import { decodeExecFile } from "../../profile/exec-credential.ts";
import { replacePrivate } from "../../profile/private-file.ts";
import type { TlsCredentials } from "../../profile/profile.ts";
import { certificatesFolder, profileName, readFacts } from "../../profile/profile-folder.ts";
import { certificatePaths } from "../../profile/resource-certificates.ts";

/*
 * The certificate for one Kubernetes cluster, shared by all processes of a user: forty kubectl at once start forty plugins. While it is valid, each reads one
 * file, the same that the shell of the kubeconfig reads (exec-plugin). Then one process gets another, and the others wait for it and read again; if it fails, they fail with it, instead of trying one after the other.
 */

export interface KubePlace {
  /** TSH_HOME. */
  readonly home: string;
  readonly proxy: HostPort;
  readonly kube: string;
}

/** Time limit for another process that gets the certificate, ms. */
const waitMs = 30_000;

/** The stored certificate; undefined when there is none that is still valid. */
export async function storedKubeCertificate(place: KubePlace, now: Date): Promise<TlsCredentials | undefined> {
  const text = await readFile(fileOf(place), "utf8").catch(() => "");
  return decodeExecFile(text, now);
}

/**
 * The stored certificate if it is still valid, else the one that `renew` returns, which is stored while other processes wait for it. Without a login at this
 * proxy it is not stored. Throws what `renew` throws, in this process or in the one that was waited for; `timeout`, `invalid`.
 */
export async function kubeCertificate(place: KubePlace, renew: () => Promise<TlsCredentials>): Promise<TlsCredentials> {
  const started = Date.now();
  const stored = await storedKubeCertificate(place, new Date());
  if (stored !== undefined) return stored;
  const path = fileOf(place);
  if ((await readFacts(place.home, profileName(place.proxy))) === undefined) return await renew();
  await makeFolder(dirname(path));
  return await withFileLock(
    `${path}.lock`,
    async () => {
      const renewed = await storedKubeCertificate(place, new Date());
      if (renewed !== undefined) return renewed;
      await rethrowFailure(`${path}.failed`, started);
      try {
        return await renew();
      } catch (thrown) {
        await noteFailure(`${path}.failed`, toPlatformError(thrown)).catch(() => {});
        throw thrown;
      }
    },
    waitMs,
  );
}

/** A login leaves none. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    throw new PlatformError("invalid", `could not create ${path}: ${errorText(cause)}`, {
      cause,
      hint: "check the folder, its owner and free space",
    });
  });
}

function fileOf({ home, proxy, kube }: KubePlace): string {
  return join(certificatesFolder(home, proxy), certificatePaths({ kind: "kube", name: kube }).exec);
}

interface Failure {
  /** When it failed, ms. */
  readonly at: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string | undefined;
}

async function noteFailure(path: string, { code, message, hint }: PlatformError): Promise<void> {
  await replacePrivate(path, JSON.stringify({ at: Date.now(), code, message, hint } satisfies Failure));
}

/** Throws the failure of a process that has tried since `started`. */
async function rethrowFailure(path: string, started: number): Promise<void> {
  const text = await readFile(path, "utf8").catch(() => "");
  let failure: Failure;
  try {
    failure = JSON.parse(text) as Failure;
  } catch {
    return;
  }
  if (failure.at >= started) throw new PlatformError(failure.code, failure.message, { hint: failure.hint });
  await rm(path, { force: true });
}
