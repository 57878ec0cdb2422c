import { clipCommand } from "../../../core/audit/audit-event.ts";
import type { AuditFacts } from "../../../core/audit/audit-events.ts";
import { confirmedBy } from "../../../core/audit/recorded-user.ts";
import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { StatusText } from "../../../core/kubernetes/program-exit.ts";
import type { OpenRecording } from "../../../core/recording-spool/recording-spool.ts";
import { mustBeRecorded, watchUpload } from "../../../core/recording-spool/required-recording.ts";
import { type TerminalWriter, terminalRecording } from "../../../core/recording-spool/terminal-writer.ts";
import { recordedAt } from "../../../core/resources/recording.ts";
import type { HeldRoom } from "../../audit/spool-room.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import { recordResizes } from "../../session-join/record-resizes.ts";
import type { SharedFacts, SharedTerminal } from "../../session-join/shared-terminal.ts";
import type { TerminalSize } from "../../session-join/terminal-size.ts";
import type { Judged, StreamTarget } from "../http/judged.ts";
import type { ProgramQuery } from "../http/program-query.ts";
import { namesOf, roomFor } from "../http/request-note.ts";
import type { KubeSession } from "../kube-session.ts";
import type { ProgramInserts } from "../streams/insertion.ts";
import type { ProgramEvents } from "../streams/stream-tap.ts";
import { type PodFacts, podFacts } from "./pod-facts.ts";
import { shareProgram, stopSharing } from "./share-program.ts";

/** Of a terminal, before the client states it. */
const usualSize = { columns: 80, rows: 24 };

export interface Program {
  readonly judged: Judged;
  readonly stream: StreamTarget;
  readonly query: ProgramQuery;
}

export interface ProgramLife {
  /** The program may run as soon as the API server is asked. */
  readonly startsWithRequest: boolean;
  /** Ends the connection. */
  readonly end: (why: PlatformError) => void;
}

/** How the connection to a program ended. */
export interface ProgramEnd {
  readonly received: number;
  readonly transmitted: number;
  /** The program may have run, although nothing has said so. */
  readonly mayHaveRun: boolean;
  /** Why the platform ended it, or it did not begin. */
  readonly reason?: PlatformError | undefined;
}

/** A user's session with a program in a container: its audit events, and the recording of its terminal. */
export class ProgramSession {
  readonly #session: KubeSession;
  readonly #program: Program;
  readonly #facts: ReturnType<typeof sessionFields>;
  readonly #started: Date;
  readonly #events: ProgramEvents;
  #recording: OpenRecording<TerminalWriter> | undefined;
  #shared: SharedTerminal | undefined;
  #size: TerminalSize = usualSize;
  readonly #over = new AbortController();
  readonly #resized = recordResizes((size) => this.#recordSize(size), this.#over.signal);
  #stopWatch: () => void = () => {};
  readonly #status = new StatusText();
  /** Events of the beginning that are not recorded yet, the first one of the session. */
  readonly #beginning: AuditFacts[];
  /** For those, of a program that starts with its request. */
  #room: HeldRoom | undefined;
  #hasStarted = false;
  #hasRun = false;

  /**
   * Before it begins. Throws PlatformError when its terminal cannot be recorded and has to be, or, of one that starts with its request, when there is no room for the events
   * of its beginning: the program does not start then.
   */
  static async prepare(program: Program, session: KubeSession, { startsWithRequest, end }: ProgramLife): Promise<ProgramSession> {
    const { namespace, pod } = program.stream;
    const facts = await podFacts(session, { namespace, name: pod, container: program.query.container });
    const prepared = new ProgramSession(program, session, facts);
    if (startsWithRequest) prepared.#room = await roomFor(session, prepared.#beginning);
    try {
      await prepared.#record(end);
    } catch (thrown) {
      prepared.#giveBackRoom();
      throw thrown;
    }
    return prepared;
  }

  private constructor(program: Program, session: KubeSession, pod: PodFacts) {
    this.#program = program;
    this.#session = session;
    this.#facts = sessionFields(program, session, pod);
    this.#started = this.#now();
    this.#beginning = this.#beginningEvents();
    this.#events = {
      onOutput: (bytes) => {
        this.#shared?.show(bytes);
        return program.query.isTerminal ? this.#recording?.writer.show(bytes) : undefined;
      },
      onResize: (size) => this.#resize(size),
      onStatus: (bytes) => this.#status.take(bytes),
    };
  }

  /** The API server has agreed to run it. Throws PlatformError when that cannot be recorded. */
  async run(): Promise<ProgramEvents> {
    const { audit } = this.#session.deps;
    for (let event = this.#beginning[0]; event !== undefined; event = this.#beginning[0]) {
      await audit.record(event, { room: this.#room });
      this.#beginning.shift();
      this.#hasStarted = true;
      this.#hasRun = true;
      this.#recording?.release();
    }
    this.#giveBackRoom();
    return this.#events;
  }

  /** Lets other users join its terminal, if it has one, from now until the end. */
  share(inserts: ProgramInserts): void {
    const { live } = this.#session.deps;
    const size = (): TerminalSize => this.#size;
    const record = (bytes: Buffer): void => void this.#recording?.writer.show(bytes);
    if (this.#program.query.isTerminal) this.#shared = shareProgram({ facts: this.#sharedFacts(), inserts, size, record, live });
  }

  /** Of a program that the API server did not run, nothing but its request is recorded. Never throws. */
  async close({ received, transmitted, reason, mayHaveRun }: ProgramEnd): Promise<void> {
    const { deps } = this.#session;
    this.#over.abort();
    if (this.#shared !== undefined) stopSharing(this.#shared, deps.live);
    if (mayHaveRun) this.#recording?.release();
    await this.#closeRecording();
    if (mayHaveRun) for (const event of this.#beginning.splice(0)) await recordOrLog(deps, event, this.#room);
    this.#giveBackRoom();
    if (!this.#hasStarted && !mayHaveRun) return;
    const { code, error } = this.#status.exit ?? {};
    const why = reason?.message ?? error;
    const exit = code === undefined ? {} : { exit_code: code };
    const everyone = this.#shared?.everyone;
    const participants = everyone === undefined ? {} : { participants: [...everyone] };
    const end = { ...participants, session_start: this.#started.toISOString(), ...exit, ...(why !== undefined && { reason: why.slice(0, 2_000) }) };
    const isCut = this.#hasRun && reason !== undefined;
    await Promise.all([
      ...(isCut ? [recordOrLog(deps, { event: "client.disconnect", ...this.#facts, reason: reason.message.slice(0, 2_000) })] : []),
      ...(this.#hasRun
        ? [recordOrLog(deps, { event: "session.data", ...this.#facts, bytes_transmitted: transmitted, bytes_received: received })]
        : []),
      recordOrLog(deps, { event: "session.end", ...this.#facts, ...end }),
    ]);
  }

  #beginningEvents(): AuditFacts[] {
    const { stream, query } = this.#program;
    const start = { event: "session.start" as const, ...this.#facts, ...confirmedBy(this.#session.user), interactive: query.isTerminal };
    // A request to attach may name a command, too, which nothing runs.
    if (stream.kind !== "exec" || query.command === "") return [start];
    return [start, { event: "exec", ...this.#facts, command: clipCommand(query.command) }];
  }

  #giveBackRoom(): void {
    this.#room?.[Symbol.dispose]();
    this.#room = undefined;
  }

  #resize(size: TerminalSize): void {
    this.#size = size;
    this.#recording?.writer.resize(size.columns, size.rows);
    this.#resized(size);
  }

  #recordSize(size: string): void {
    void recordOrLog(this.#session.deps, { event: "resize", ...this.#facts, size });
  }

  /** Records the terminal by the cluster's mode. A failure is audited, and ends the session where it has to be recorded. */
  async #record(end: (why: PlatformError) => void): Promise<void> {
    const how = recordedAt(this.#session.recordingMode);
    if (how === undefined || !this.#program.query.isTerminal) return;
    const isRequired = how.isSync || this.#session.strictRecording();
    let isTold = false;
    const onFailed = (why: PlatformError): void => {
      if (isTold) return;
      isTold = true;
      const { deps, sid } = this.#session;
      deps.log.error("a session in a pod is not recorded", { session: sid, error: why });
      void recordOrLog(deps, { event: "session.recording.failed", ...this.#recorded(), reason: why.message.slice(0, 2_000) });
      if (isRequired) end(mustBeRecorded(why));
    };
    const { recordings } = this.#session.deps;
    try {
      const facts = { ...this.#recorded(), kind: "kube", resource: this.#session.cluster.name.slice(0, 256), started: this.#started.toISOString() };
      const recording = terminalRecording({ facts, term: "xterm", size: usualSize, onFailed });
      this.#recording = await recordings.begin({ ...recording, isHeld: !how.isSync });
      if (!how.isSync) return;
      await recordings.sendNow(this.#recording.spooled);
      this.#stopWatch = watchUpload(this.#recording, onFailed);
    } catch (thrown) {
      onFailed(toPlatformError(thrown));
      await this.#closeRecording();
      if (isRequired) throw mustBeRecorded(thrown);
    }
  }

  async #closeRecording(): Promise<void> {
    this.#stopWatch();
    const recording = this.#recording;
    this.#recording = undefined;
    await recording?.end();
  }

  #sharedFacts(): SharedFacts {
    const { server_id, server_name, user, login, kubernetes_cluster: cluster, kubernetes_container_name: container = "" } = this.#facts;
    const pod = { cluster, namespace: this.#facts.kubernetes_pod_namespace, name: this.#facts.kubernetes_pod_name, container };
    const { sid, user: owner } = this.#session;
    return { sid, kind: "kube", server_id, server_name, user, roles: owner.roles, login, pod, started: this.#started.toISOString() };
  }

  #recorded() {
    const { sid, server_id, server_name, user } = this.#facts;
    return { sid, server_id, server_name, user };
  }

  #now(): Date {
    return (this.#session.deps.now ?? (() => new Date()))();
  }
}

/** Fields of every audit event of a session in a pod. Pure. */
export function sessionFields({ judged, stream }: Pick<Program, "judged" | "stream">, session: KubeSession, pod?: PodFacts) {
  const { deps, user, sid, cluster, clientAddress } = session;
  return {
    server_id: deps.credentials().hostId,
    server_name: deps.node.name,
    user: user.name.slice(0, 256),
    login: "",
    sid: sid.slice(0, 256),
    kubernetes_cluster: cluster.name.slice(0, 256),
    ...namesOf(judged.identity),
    kubernetes_pod_namespace: stream.namespace.slice(0, 256),
    kubernetes_pod_name: stream.pod.slice(0, 256),
    ...(pod && {
      kubernetes_container_name: pod.container.slice(0, 256),
      kubernetes_container_image: pod.image.slice(0, 256),
      kubernetes_node_name: pod.node.slice(0, 256),
    }),
    ...(clientAddress !== "" && { "addr.remote": clientAddress.slice(0, 256) }),
  };
}
