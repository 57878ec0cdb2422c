import { randomUUID } from "node:crypto";
import { type CertifiedUser, confirmedBy, recordedUser } from "../../../core/audit/recorded-user.ts";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { mustBeRecorded } from "../../../core/recording-spool/required-recording.ts";
import { type RecordingMode, recordedAt } from "../../../core/resources/recording.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import type { ServiceDeps } from "../../service/service.ts";
import type { OfferedApp } from "../offered-app.ts";
import { ChunkRecording } from "./chunk-recording.ts";
import type { AskedRequest } from "./recorded-request.ts";

export type AuditDeps = Pick<ServiceDeps, "audit" | "log" | "node" | "credentials" | "recordings" | "now">;

/** Facts about a session with an application. */
export interface SessionFacts {
  readonly sid: string;
  /** As certified. */
  readonly user: string;
  readonly app: Pick<OfferedApp, "name" | "uri" | "publicAddr">;
  /** `ip:port` of the user; empty when not known. */
  readonly clientAddress: string;
  /** Id of the proxy through which the user's browser came. */
  readonly relayedBy: string | undefined;
  /** Of the cluster. */
  readonly mode: RecordingMode;
  /** A role demands it (`record_session: strict`). */
  readonly isStrict: boolean;
}

/** Fields of every audit event of a session. Pure. */
export function sessionFields(
  { sid, user, app, clientAddress, relayedBy }: SessionFacts,
  { node, credentials }: Pick<AuditDeps, "node" | "credentials">,
) {
  return {
    server_id: credentials().hostId,
    server_name: node.name,
    user: user.slice(0, 256),
    sid: sid.slice(0, 256),
    app_name: app.name,
    app_uri: app.uri,
    ...(app.publicAddr !== undefined && { app_public_addr: app.publicAddr }),
    ...(relayedBy !== undefined && { relayed_by: relayedBy }),
    ...(clientAddress !== "" && { "addr.remote": clientAddress.slice(0, 256) }),
  };
}

/** Longest time that one recording of requests covers, ms. */
export const usualChunkMs = 300_000;

/** A user's session with a web application: its audit events, and a recording for every few minutes that have requests. */
export class AppSession {
  readonly #facts: SessionFacts;
  readonly #deps: AuditDeps;
  readonly #chunkMs: number;
  /** Ends its connections. */
  readonly #end: (why: PlatformError) => void;
  readonly #started: Date;
  readonly #bytes = { received: 0, transmitted: 0 };
  #chunk: ChunkRecording | undefined;
  #beginning: Promise<ChunkRecording> | undefined;
  #reason: PlatformError | undefined;

  constructor(facts: SessionFacts, deps: AuditDeps, { chunkMs, end }: { readonly chunkMs: number; readonly end: (why: PlatformError) => void }) {
    this.#facts = facts;
    this.#deps = deps;
    this.#chunkMs = chunkMs;
    this.#end = end;
    this.#started = this.#now();
  }

  /** Throws PlatformError when the start cannot be recorded: the session does not begin then. */
  async start(user: CertifiedUser): Promise<void> {
    await this.#deps.audit.record({
      event: "app.session.start",
      ...sessionFields(this.#facts, this.#deps),
      ...recordedUser(user),
      ...confirmedBy(user),
    });
  }

  /** A request may go on: a recording for it is there. Throws PlatformError when there has to be one and cannot be. */
  async ready(): Promise<void> {
    const how = recordedAt(this.#facts.mode);
    if (how === undefined) return;
    const isRequired = how.isSync || this.#facts.isStrict;
    if (this.#chunk === undefined || this.#chunk.ageMs >= this.#chunkMs) {
      this.#beginning ??= this.#beginChunk(how.isSync, isRequired).finally(() => {
        this.#beginning = undefined;
      });
      await this.#beginning;
    }
    const chunk = this.#chunk;
    if (isRequired) await chunk?.opened;
    if (isRequired && chunk?.failure !== undefined) throw mustBeRecorded(chunk.failure);
    await chunk?.behind();
  }

  request(request: AskedRequest): void {
    this.#chunk?.add(request);
  }

  /** Records that a page of another site was refused. `more`: such refusals since the event before. */
  refusedOrigin(origin: string, more: number): void {
    const { server_id, server_name, user, sid, app_name, "addr.remote": remote } = sessionFields(this.#facts, this.#deps);
    const others = more === 0 ? "" : `, after ${more} more since the last event`;
    const error = `access denied: a page of ${JSON.stringify(origin.slice(0, 256))} may not open a WebSocket to this application${others}`;
    const who = { server_id, server_name, user, sid, app_name, ...(remote !== undefined && { "addr.remote": remote }) };
    void recordOrLog(this.#deps, { event: "auth", error, ...who });
  }

  /** One of its connections has ended. */
  left({ received, transmitted, reason }: Left): void {
    this.#bytes.received += received;
    this.#bytes.transmitted += transmitted;
    this.#reason ??= reason;
  }

  /** Never throws. */
  async close(): Promise<void> {
    await this.#beginning?.catch(() => {});
    await this.#chunk?.close();
    const counts = { bytes_transmitted: this.#bytes.transmitted, bytes_received: this.#bytes.received };
    const reason = this.#reason === undefined ? {} : { reason: this.#reason.message.slice(0, 2_000) };
    const end = { session_start: this.#started.toISOString(), ...counts, ...reason };
    await recordOrLog(this.#deps, { event: "app.session.end", ...sessionFields(this.#facts, this.#deps), ...end });
  }

  async #beginChunk(isSync: boolean, isRequired: boolean): Promise<ChunkRecording> {
    const { sid: session, user, app } = this.#facts;
    const before = this.#chunk;
    const fields = sessionFields(this.#facts, this.#deps);
    const id = randomUUID();
    await this.#deps.audit.record({ event: "app.session.chunk", ...fields, session_chunk_id: id });
    const started = this.#now().toISOString();
    const { server_id, server_name } = fields;
    const recorded = { sid: id, server_id, server_name, user: user.slice(0, 256), kind: "app", resource: app.name };
    const chunk = new ChunkRecording({
      facts: { ...recorded, format: "requests", started },
      session,
      app: app.name,
      isSync,
      recordings: this.#deps.recordings,
      onFailed: (why) => {
        this.#deps.log.error("requests to an application are not recorded", { session, app: app.name, error: why });
        void recordOrLog(this.#deps, { event: "session.recording.failed", ...recorded, reason: why.message.slice(0, 2_000) });
        if (isRequired) this.#end(mustBeRecorded(why));
      },
    });
    this.#chunk = chunk;
    void before?.close();
    return chunk;
  }

  #now(): Date {
    return (this.#deps.now ?? (() => new Date()))();
  }
}

/** The totals of a connection that has ended. */
export interface Left {
  readonly received: number;
  readonly transmitted: number;
  readonly reason?: PlatformError | undefined;
}
