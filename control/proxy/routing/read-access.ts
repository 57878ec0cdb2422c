import type { AuthClient } from "../../../core/api/auth-client.ts";
import { type AuthorityBundle, bundlesOf, pickTrustedKeys, type TrustedKeys, trustedDigest } from "../../../core/api/trusted-keys.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { readDocument, readDocuments, resourceDocument } from "../../../core/resources/document.ts";
import { type Lock, lockDocument } from "../../../core/resources/lock.ts";
import { type Node, nodeDocument } from "../../../core/resources/node.ts";
import { type RecordingMode, recordingModes } from "../../../core/resources/recording.ts";
import { type Role, roleDocument } from "../../../core/resources/role.ts";

/** Roles and authorities as of one revision. */
export interface Access extends TrustedKeys {
  readonly revision: string;
  readonly roles: readonly Role[];
  /** Names of the roles that this version cannot read. */
  readonly unreadable: readonly string[];
  readonly locks: readonly Lock[];
  /** Hosts without an agent. */
  readonly openssh: readonly Node[];
  /** Digest of these keys. */
  readonly authorities: string;
  /** Keys of every authority. */
  readonly bundles: readonly AuthorityBundle[];
  readonly sessionRecording: RecordingMode;
}

/** The facts in an answer of the auth service. Throws `unavailable` for a lock or a mode that this version cannot read: no decision is made then. */
export function readAccess(answer: Awaited<ReturnType<AuthClient["getAccess"]>>, { log, before }: ReadOptions): Access {
  return {
    revision: answer.revision,
    ...readRoles(answer.rolesJson, { log, before }),
    locks: readLocks(answer.locksJson),
    openssh: answer.opensshNodesJson.flatMap((json) => readNode(json, log)),
    ...pickTrustedKeys(answer),
    bundles: bundlesOf(answer),
    authorities: trustedDigest(answer),
    sessionRecording: parseMode(answer.sessionRecording),
  };
}

interface ReadOptions {
  readonly log: Log;
  /** The last answer: what is still unreadable is logged once. */
  readonly before: Pick<Access, "unreadable"> | undefined;
}

function readRoles(documents: readonly string[], { log, before }: ReadOptions): Pick<Access, "roles" | "unreadable"> {
  const roles: Role[] = [];
  const unreadable: string[] = [];
  for (const json of documents) {
    try {
      roles.push(readDocument(roleDocument, json));
    } catch {
      unreadable.push(readDocument(resourceDocument, json).metadata.name);
    }
  }
  if (unreadable.length > 0 && unreadable.join() !== before?.unreadable.join())
    log.warn("this version of the proxy cannot read some roles: their holders are denied", { roles: unreadable });
  return { roles, unreadable };
}

/** An unreadable one is skipped; the others are used. */
function readNode(json: string, log: Log): readonly Node[] {
  try {
    return [readDocument(nodeDocument, json)];
  } catch (error) {
    log.warn("could not read the record of a host without an agent; skipping it", { error: errorText(error) });
    return [];
  }
}

/** An unreadable lock may be the one that applies: no decision is made without it. */
function readLocks(documents: readonly string[]): readonly Lock[] {
  try {
    return readDocuments(lockDocument, documents);
  } catch (cause) {
    throw cannotRead("a lock", cause);
  }
}

/** It is unknown where an unknown mode would record: access is denied. */
function parseMode(text: string): RecordingMode {
  const mode = recordingModes.find((one) => one === (text === "" ? "off" : text));
  if (mode === undefined) throw cannotRead("how to record sessions", new Error(text));
  return mode;
}

function cannotRead(what: string, cause: unknown): PlatformError {
  return new PlatformError("unavailable", `could not read ${what} of this cluster; access is denied until it can be read`, {
    cause,
    hint: "the auth service may be newer than this proxy: upgrade both to the same version",
  });
}
