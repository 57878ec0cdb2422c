import type { AuditFacts } from "../../../core/audit/audit-events.ts";
import { confirmedBy } from "../../../core/audit/recorded-user.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { MassOwner } from "../../audit/mass-shares.ts";
import type { HeldRoom, RoomAsk } from "../../audit/spool-room.ts";
import { type ClientRequest, fieldOf } from "../../http/exchange.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import type { KubeSession } from "../kube-session.ts";
import type { Judged } from "./judged.ts";

/** Status in the audit log of a request whose client left before the response. */
export const goneStatus = 499;

/** Time that a request waits for room in the audit log, ms. */
const roomMs = 5_000;
/** Bytes of an event beside what is known when the request is admitted: its time and cluster, the figures of the end, an error of usual length. */
const unknownBytes = 768;

/**
 * The audit event of one request: at its end, and for a watch or a stream at its beginning too. Such events come in masses: a request is admitted with the room
 * for its own, however long it lasts, so that their end leaves others the quarter of the spool that is theirs.
 */
export class RequestNote {
  readonly bytes = { received: 0, transmitted: 0 };
  readonly #asked: ClientRequest;
  readonly #session: KubeSession;
  readonly #began = performance.now();
  #judged: Judged | undefined;
  #path: string;
  /** For its events, from its admission to its end. */
  #room: HeldRoom | undefined;
  #isCrowdedOut = false;
  #hasBegun = false;
  #isDone = false;

  constructor(asked: ClientRequest, session: KubeSession) {
    this.#asked = asked;
    this.#session = session;
    this.#path = pathOf(asked.target);
  }

  /** The target without our prefix. */
  target(target: string): void {
    this.#path = pathOf(target);
  }

  judged(judged: Judged): void {
    this.#judged = judged;
  }

  /**
   * The request may be made: there is room for so many events of it. Throws `unavailable` when there is none for some seconds, and the reason of `signal` when it
   * is aborted meanwhile.
   */
  async admit(signal: AbortSignal, events: 1 | 2 = 1): Promise<void> {
    const isRecorded = this.#isRecorded;
    if (isRecorded) this.#room = await hold(this.#session, { bytes: events * (bytesOf(this.#event(0)) + unknownBytes), waitMs: roomMs });
    signal.throwIfAborted();
    if (!isRecorded || this.#room !== undefined) return;
    this.#isCrowdedOut = true;
    throw crowdedError();
  }

  /** There was no room for it. */
  get isCrowdedOut(): boolean {
    return this.#isCrowdedOut;
  }

  /**
   * A program is about to start with its request: that is on disk, with 0 as the status, before the API server is asked. Throws PlatformError when it cannot be
   * recorded.
   */
  async announce(): Promise<void> {
    await this.#session.deps.audit.record({ ...this.#event(0), phase: "begin" }, { room: this.#room });
    this.#hasBegun = true;
  }

  /** A watch or a stream has been answered, and goes on. */
  async begin(status: number): Promise<void> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    await recordOrLog(this.#session.deps, { ...this.#event(status), phase: "begin" }, this.#room);
  }

  /** Records the end, once. Never throws. */
  end(status: number, error?: PlatformError | Error): void {
    if (this.#isDone || (!this.#isRecorded && error === undefined)) return;
    this.#isDone = true;
    const { received, transmitted } = this.bytes;
    const figures = { bytes_received: received, bytes_transmitted: transmitted, duration: Math.round(performance.now() - this.#began) };
    const why = error === undefined ? {} : { error: errorText(error).slice(0, 2_000) };
    const event = { ...this.#event(status), ...(this.#hasBegun && { phase: "end" as const }), ...figures, ...why };
    void this.#record(event, error !== undefined && !this.#isCrowdedOut);
  }

  get #isRecorded(): boolean {
    return this.#judged?.isOpen !== true;
  }

  /**
   * A request that was refused has done nothing: its event does not take the room of those that have, nor do they take its own. One that was refused for want of
   * room belongs to those that fill it.
   */
  async #record(event: AuditFacts, isRefusal: boolean): Promise<void> {
    const { deps } = this.#session;
    using room =
      this.#room ?? (await hold(this.#session, { bytes: bytesOf(event) + unknownBytes, waitMs: 0, part: isRefusal ? "refusals" : undefined }));
    if (room !== undefined) await recordOrLog(deps, event, room);
  }

  #event(status: number) {
    const { cluster, deps, user, sid, clientAddress } = this.#session;
    const { facts, identity } = this.#judged ?? {};
    const agent = fieldOf(this.#asked.headers, "user-agent");
    return {
      event: "kube.request" as const,
      server_id: deps.credentials().hostId,
      server_name: deps.node.name,
      user: user.name.slice(0, 256),
      sid: sid.slice(0, 256),
      kubernetes_cluster: cluster.name.slice(0, 256),
      ...(identity && namesOf(identity)),
      proto: "kube" as const,
      request_path: this.#path.slice(0, 2_000),
      verb: this.#asked.method.slice(0, 32),
      response_code: status,
      ...optional("kubernetes_verb", facts?.verb),
      ...optional("resource_api_group", facts?.group),
      ...optional("resource_kind", facts?.resource),
      ...optional("resource_namespace", facts?.namespace),
      ...optional("resource_name", facts?.name),
      ...optional("user_agent", agent),
      ...optional("relayed_by", user.relayed?.by),
      ...confirmedBy(user),
      ...optional("addr.remote", clientAddress),
    };
  }
}

/** In place of a message that could not be read as a request: nothing of it is certain. */
const unread: ClientRequest = { method: "", target: "", hosts: [], headers: [], body: undefined, trailers: () => [], version: 1 };

/** Records that a message was refused which could not be read as a request. Never throws. */
export function noteUnread(status: number, error: PlatformError, session: KubeSession): void {
  new RequestNote(unread, session).end(status, error);
}

/** Room for these events of what is about to begin. Throws `unavailable` when there is none for some seconds. */
export async function roomFor(session: KubeSession, events: readonly AuditFacts[]): Promise<HeldRoom> {
  const bytes = events.reduce((sum, event) => sum + bytesOf(event) + unknownBytes, 0);
  const room = await hold(session, { bytes, waitMs: roomMs });
  if (room === undefined) throw crowdedError();
  return room;
}

async function hold(
  { deps, user }: KubeSession,
  { part, ...wanted }: Omit<RoomAsk, "owner"> & Pick<MassOwner, "part">,
): Promise<HeldRoom | undefined> {
  return await deps.audit.hold({ ...wanted, owner: { service: "kube", user: user.name, part } });
}

function crowdedError(): PlatformError {
  return new PlatformError(
    "unavailable",
    "this agent cannot record requests right now: too many of yours or of all users are running, or too many audit events are waiting for the auth service",
    { hint: "try again in a moment" },
  );
}

function bytesOf(event: AuditFacts): number {
  return Buffer.byteLength(JSON.stringify(event));
}

/** The identity that the API server saw, for events. Pure. */
export function namesOf({ user, groups }: Judged["identity"]) {
  return { kubernetes_users: [user.slice(0, 256)], kubernetes_groups: groups.slice(0, 64).map((group) => group.slice(0, 256)) };
}

function optional<Name extends string>(name: Name, value: string | undefined): { readonly [Key in Name]?: string } {
  return value === undefined || value === "" ? {} : ({ [name]: value.slice(0, 256) } as { readonly [Key in Name]: string });
}

function pathOf(target: string): string {
  return target.split("?", 1)[0] ?? "";
}
