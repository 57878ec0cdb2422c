import { setImmediate as nextTurn } from "node:timers/promises";
import type { ServedGrant } from "../../../core/access/authorize.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { holdToRules } from "../../service/hold-to-rules.ts";
import type { AuditQueue } from "../audit-queue.ts";
import type { DbDeps } from "../database.ts";
import type { DatabaseNames, LoginFacts } from "../engine.ts";
import { recordSession } from "../recording/record-session.ts";
import type { SessionRecording } from "../recording/session-recording.ts";
import type { SessionEvents } from "./session-events.ts";
import type { DbSessionFacts } from "./session-facts.ts";

/** What a session has from its login on. */
export interface BegunSession {
  readonly grant: ServedGrant<"db">;
  /** Takes its events. */
  readonly queue: AuditQueue;
  /** Undefined: its statements are not recorded. */
  readonly recording: SessionRecording | undefined;
  /** Resolves once the start is in the audit; nothing is sent to a server before. Rejects if it cannot be kept. */
  readonly recorded: Promise<void>;
}

export interface SessionLogin {
  readonly facts: DbSessionFacts;
  readonly names: DatabaseNames;
  readonly stated: LoginFacts;
  readonly events: SessionEvents;
  /** Of the session. */
  readonly signal: AbortSignal;
  /** Ends the session. */
  readonly end: (why: PlatformError) => void;
  /** Calls back at each sign of the user's activity. */
  readonly onActivity: (touch: () => void) => void;
  /** Takes what the end of the session closes, whether it has begun or not. It never throws. */
  readonly onClose: (close: () => Promise<void> | void) => void;
}

/**
 * Begins a session: authorized, limited, recorded, with the user's own account where a role says so, and held to its rules from then on. Throws PlatformError once
 * the refusal is recorded.
 */
export async function beginSession(login: SessionLogin, deps: DbDeps): Promise<BegunSession> {
  const { facts, names, stated, events, signal, end } = login;
  try {
    if ((names.user ?? "") === "") throw namelessError();
    const grant = await facts.judge(names);
    events.withRoles(grant.account?.roles ?? []);
    if (stated.replication !== undefined) refuseReplication(grant, facts.mayUse({ user: names.user, name: "*" }));
    const lease = await facts.lease(grant);
    const recording = recordingOf(grant, login, deps);
    await recording?.start();
    signal.throwIfAborted();
    await makeAccount(grant, login);
    // A session that cannot be recorded does not begin. While it waits for the disk the road to the server is opened, but where roles demand a recording.
    const recorded = events.started(stated);
    await (grant.rules.strictRecording ? recorded : Promise.race([recorded, nextTurn()]));
    const queue = hold(grant, login, deps);
    lease?.onLost(end);
    return { grant, queue, recording, recorded: orRefused(recorded, login) };
  } catch (thrown) {
    await events.refused(toPlatformError(thrown), stated);
    throw thrown;
  }
}

/**
 * Throws `denied` for a user who may not open replication connections. Such a connection reads all logical databases, whichever one it names
 * (`BASE_BACKUP` works on each of them), so that a role has to allow every one: `mayUseAll`.
 */
function refuseReplication({ identity, rules, ask }: ServedGrant<"db">, mayUseAll: boolean): void {
  const who = `access denied: ${identity.name} may not open replication connections to ${ask.served.name}`;
  if (!rules.dbReplication) {
    const hint = "ask for a role with db_replication: true, or take a backup with pg_dump";
    throw new PlatformError("denied", `${who}: no role allows it, or one forbids it (db_replication)`, { hint });
  }
  if (mayUseAll) return;
  const hint = "ask for a role with db_names: ['*'], or take a backup with pg_dump";
  throw new PlatformError("denied", `${who}: they can copy all databases of the server, and the roles do not allow every database name`, { hint });
}

/** The same, with the refusal recorded. It may be awaited later, or never. */
function orRefused(recorded: Promise<void>, { events, stated }: SessionLogin): Promise<void> {
  const known = recorded.catch(async (thrown: unknown) => {
    await events.refused(toPlatformError(thrown), stated);
    throw thrown;
  });
  known.catch(() => {});
  return known;
}

function recordingOf({ rules }: ServedGrant<"db">, { facts, names, end, onClose }: SessionLogin, deps: DbDeps): SessionRecording | undefined {
  const { sid, user, database, sessionRecording: mode } = facts;
  const recording = recordSession({ sid, user, database, names, mode, isStrict: rules.strictRecording, end }, deps);
  if (recording !== undefined) onClose(async () => await recording.close());
  return recording;
}

async function makeAccount(grant: ServedGrant<"db">, { facts, events, signal, onClose }: SessionLogin): Promise<void> {
  if (grant.account === undefined) return;
  const account = await facts.ownAccount?.(grant, async (event) => await events.note(event));
  if (account !== undefined) onClose(async () => await account.release());
  signal.throwIfAborted();
}

function hold(grant: ServedGrant<"db">, { events, end, onActivity, onClose }: SessionLogin, { access, now = () => new Date() }: DbDeps): AuditQueue {
  onClose(holdToRules({ grant, access, now, onActivity, end }));
  const queue = events.queue(grant.rules.strictRecording ? end : undefined);
  onClose(async () => await queue.settled());
  return queue;
}

function namelessError(): PlatformError {
  return new PlatformError("invalid", "no database user was stated", { hint: "state one: --db-user=NAME" });
}
