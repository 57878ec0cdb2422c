import { pickTrustedKeys, type ReportedKeys, type TrustedKeys } from "../../core/api/trusted-keys.ts";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../core/identity/identity.ts";
import type { Log } from "../../core/log/log.ts";
import { readDocument, readDocuments, resourceDocument } from "../../core/resources/document.ts";
import { type Lock, lockDocument } from "../../core/resources/lock.ts";
import { type RecordingMode, recordingModes } from "../../core/resources/recording.ts";
import { type Role, roleDocument } from "../../core/resources/role.ts";

/** Roles and authorities as of one revision. */
export interface Access extends ReportedKeys {
  readonly revision: string;
  readonly roles: readonly Role[];
  /** Names of roles that exist but that this version cannot read. */
  readonly unreadable: readonly string[];
  readonly locks: readonly Lock[];
  readonly sessionRecording: RecordingMode;
}

/** The auth service's answer, before it is checked. */
export interface AccessAnswer extends TrustedKeys {
  readonly revision: string;
  readonly rolesJson: readonly string[];
  readonly locksJson: readonly string[];
  /** Empty for an older auth service, which does not accept recordings. */
  readonly sessionRecording: string;
  /** 0 or left out: an older auth service. */
  readonly renewalSpreadSeconds?: number;
}

export interface AccessSource {
  /** Roles and authorities at least as new as this revision; empty for the newest. Throws when the fetch fails: the caller must deny. */
  at(revision: string): Promise<Access>;
  /** An answer at most this old, ms; asks for one when none is held. Throws as `at` does. */
  fresh(maxAgeMs: number): Promise<Access>;
  /** Time since the request that produced the held answer, ms; Infinity when the auth service never answered. */
  ageMs(): number;
  /** Calls back with the newest answer at once, and with every one that differs from the one before, until the signal. */
  follow(listener: (access: Access) => void, signal: AbortSignal): void;
  /** Asks the auth service now. */
  refresh(): Promise<Access>;
  /** The proxy reports this revision as the newest: fetches it ahead of its next use. */
  announce(revision: string): void;
}

/** Throws `denied` when the user has a role that this agent cannot read: it may deny what is asked for. Pure. */
export function requireReadableRoles({ roles }: Pick<UserIdentity, "roles">, { unreadable }: Pick<Access, "unreadable">, hostname: string): void {
  const role = roles.find((one) => unreadable.includes(one));
  if (role === undefined) return;
  throw new PlatformError("denied", `access denied: the agent on ${hostname} is too old to read role ${role}`, { hint: "upgrade the agent" });
}

interface AccessSourceOptions {
  readonly fetch: () => Promise<AccessAnswer>;
  readonly log: Log;
  /** Monotonic clock, ms. */
  readonly clock?: () => number;
}

/** Keeps one answer; `fetch` asks the auth service. No decision is made by an answer known to be outdated. */
export function openAccessSource(options: AccessSourceOptions): AccessSource {
  const { fetch, log, clock = () => performance.now() } = options;
  let held: Access | undefined;
  /** The newest revision that a proxy has reported. */
  let newest: string | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<Access> | undefined;
  const listeners = new Set<(access: Access) => void>();
  const refresh = (): Promise<Access> => {
    const began = clock();
    fetching ??= fetch()
      .then((answer) => {
        const access = toAccess(answer, log);
        const isNew = access.revision !== held?.revision;
        held = access;
        askedAt = began;
        newest = access.revision;
        if (isNew) for (const listener of listeners) listener(access);
        return access;
      })
      .finally(() => {
        fetching = undefined;
      });
    return fetching;
  };
  const at = async (revision: string): Promise<Access> => {
    const fits = (access: Access | undefined): access is Access => access !== undefined && access.revision === (revision === "" ? newest : revision);
    if (fits(held)) return held;
    try {
      // A fetch that was under way when the request came may return an older state: then fetch once more.
      const running = fetching;
      if (running !== undefined && fits(await running)) return await running;
      return await refresh();
    } catch (thrown) {
      throw unasked(thrown, log);
    }
  };
  const fresh = async (maxAgeMs: number): Promise<Access> => {
    if (held !== undefined && clock() - askedAt <= maxAgeMs) return held;
    try {
      return await refresh();
    } catch (thrown) {
      throw unasked(thrown, log);
    }
  };
  const announce = (revision: string): void => {
    newest = revision;
    if (held !== undefined && held.revision !== revision)
      refresh().catch((error: unknown) => log.debug("could not fetch roles ahead of use", { error }));
  };
  const follow = (listener: (access: Access) => void, signal: AbortSignal): void => {
    if (held !== undefined) listener(held);
    listeners.add(listener);
    signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
  };
  return { at, fresh, ageMs: () => clock() - askedAt, announce, follow, refresh };
}

function unasked(thrown: unknown, log: Log): PlatformError {
  log.warn("could not fetch roles: access is denied", { error: thrown });
  return new PlatformError("unavailable", "access denied: this host could not fetch roles from the auth service", {
    cause: toPlatformError(thrown),
    hint: "try again in a moment",
  });
}

/** A role that this version cannot read might hold the deny rule that matters: its holders are denied. */
function toAccess(answer: AccessAnswer, log: Log): Access {
  const roles: Role[] = [];
  const unreadable: string[] = [];
  for (const json of answer.rolesJson) {
    try {
      roles.push(readDocument(roleDocument, json));
    } catch {
      unreadable.push(readDocument(resourceDocument, json).metadata.name);
    }
  }
  if (unreadable.length > 0)
    log.warn("this version of the agent cannot read some roles: users holding these roles are denied", { roles: unreadable });
  const locks = readDocuments(lockDocument, answer.locksJson);
  const { revision, renewalSpreadSeconds = 0 } = answer;
  const keys = { ...pickTrustedKeys(answer), renewalSpreadMs: renewalSpreadSeconds === 0 ? undefined : renewalSpreadSeconds * 1000 };
  return { revision, roles, unreadable, locks, ...keys, sessionRecording: modeOf(answer.sessionRecording) };
}

/** A mode that this version does not know is as strict as the strictest that it knows. */
function modeOf(text: string): RecordingMode {
  return text === "" ? "off" : (recordingModes.find((mode) => mode === text) ?? "node-sync");
}
