import { errorDocument } from "../../../core/databases/mongodb/error-document.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { EngineSession, ServerAccess } from "../engine.ts";
import { type Frame, FrameFilter, type Verdict } from "../frame-filter.ts";
import { relayFrames } from "../relay-frames.ts";
import { AwaitedResults } from "./awaited-results.ts";
import { type MemberWish, memberWish, suitability } from "./choose-member.ts";
import { ClientFilter } from "./client-filter.ts";
import { commandText } from "./command-text.ts";
import type { HeldCommands, Holder } from "./held-commands.ts";
import { clientAnswer, memberFacts } from "./hello.ts";
import { type CommandRules, isAudited, judgeCommand, nameOf } from "./judge-command.ts";
import { LocalAnswers } from "./local-answers.ts";
import type { Member } from "./open-member.ts";
import { keptOfReply } from "./reply-result.ts";
import { knownSeeds } from "./srv-seeds.ts";
import type { UsedSessions, UserSessions } from "./used-sessions.ts";
import {
  answerTo,
  flag,
  type Header,
  opcode,
  opMsg,
  type Request,
  readAnswer,
  readHeader,
  readRequest,
  serverFrames,
  withCommand,
  withDocument,
} from "./wire-message.ts";

export interface Conversation {
  readonly session: EngineSession;
  /** A client's first message that is a hello, which the member has answered already. Left out: the first message is in the client's stream. */
  readonly hello?: Request | undefined;
  readonly access: ServerAccess;
  readonly member: Member;
  /** Of all sessions. */
  readonly held: HeldCommands;
  readonly used: UsedSessions;
}

/** Longest answer to a hello that is rewritten, and maximum number of them that are awaited. */
const maxHello = 64 * 1024;
const maxHellos = 100;
/** Bytes of a malformed message in its event. */
const maxPayload = 256;

/** Relays the commands of a client that has logged in, until the end of either side. Never throws. */
export async function relayCommands(conversation: Conversation): Promise<PlatformError | undefined> {
  const relay = new CommandRelay(conversation);
  return await relay.run().finally(() => relay.close());
}

class CommandRelay {
  readonly #conversation: Conversation;
  readonly #session: EngineSession;
  readonly #rules: CommandRules;
  readonly #used: UserSessions;
  readonly #wish: MemberWish;
  readonly #local: LocalAnswers;
  readonly #fromServer: FrameFilter;
  /** Requests whose answers are rewritten. */
  readonly #hellos = new Set<number>();
  readonly #results = new AwaitedResults();
  readonly #over = new AbortController();
  readonly #holder: Holder;
  /** The request whose answer the client awaits; answers to hello are not counted. */
  #awaited: number | undefined;
  /** Waits for the audit, of the commands of the current chunk. */
  #waits: Promise<void>[] = [];
  /** The member is not the one any more that the uri asks for. */
  #stale: PlatformError | undefined;

  constructor(conversation: Conversation) {
    const { session, access } = conversation;
    this.#conversation = conversation;
    this.#session = session;
    this.#holder = { user: session.user ?? "", end: (why) => this.#over.abort(why) };
    this.#used = conversation.used.open(session.user ?? session.sid, session.database.name);
    const areOwnSessions = (command: Buffer): boolean => this.#used.areOwn(command);
    this.#rules = { account: access.user, mayUse: (name) => session.mayUse?.(name) ?? true, areOwnSessions };
    this.#wish = memberWish(knownSeeds(session.database).options);
    this.#fromServer = new FrameFilter(
      serverFrames((header) => this.#kept(header)),
      (frame) => this.#judgeAnswer(frame),
    );
    this.#local = new LocalAnswers(session.client, this.#fromServer);
  }

  close(): void {
    this.#used.close();
  }

  async run(): Promise<PlatformError | undefined> {
    const { session, hello, member, held } = this.#conversation;
    const { client, signal } = session;
    const fromClient = new ClientFilter((frame) => this.#judgeMessage(frame));
    try {
      if (hello !== undefined) client.write(answerTo(hello, clientAnswer(member.hello, session.reachedAt)));
    } catch (thrown) {
      member.socket.destroy();
      throw thrown;
    }
    const end = await relayFrames({
      client,
      server: member.socket,
      fromClient,
      fromServer: this.#fromServer,
      signal: AbortSignal.any([signal, this.#over.signal]),
      untilSafe: session.isStrict === true ? () => this.#held() : undefined,
      onClient: (bytes) => {
        held.note(this.#holder, fromClient.heldBytes);
        return this.#onClient(bytes);
      },
      onServer: (bytes) => {
        session.count({ transmitted: bytes });
        this.#local.flush();
      },
      lastWords: (why) => this.#lastWords(why),
    });
    held.note(this.#holder, 0);
    if (this.#stale !== undefined) return this.#stale;
    if (end.malformed === "client" && end.reason?.code === "invalid") {
      const payload = fromClient.lastHeader.subarray(0, maxPayload).toString("base64");
      await session.record({ event: "db.session.malformed_packet", payload })?.catch(() => {});
    }
    return end.reason;
  }

  /** There are none for a lost server: a driver repeats what it may repeat when the connection breaks, and not after an error. */
  #lastWords(why: PlatformError): Buffer | undefined {
    if (this.#awaited === undefined || why.code === "unavailable") return undefined;
    return opMsg({ responseTo: this.#awaited }, errorDocument(why));
  }

  #judgeMessage({ header, body, length }: Frame): Verdict {
    return this.#judge(readRequest(Buffer.concat([header, body]), length));
  }

  #judge(request: Request): Verdict {
    const verdict = judgeCommand(request, this.#rules);
    switch (verdict.kind) {
      case "hello":
        return this.#hello(request, verdict.command);
      case "answer":
        return this.#answer(request, verdict.document);
      case "refuse":
        this.#record(request, verdict.error);
        return this.#answer(request, errorDocument(verdict.error));
      case "replace":
      case "pass":
        this.#record(request);
        this.#used.note(request.command);
        if ((request.flags & flag.moreToCome) === 0) this.#awaited = request.requestId;
        return verdict.kind === "pass" ? "pass" : withCommand(request, verdict.command);
    }
  }

  #hello(request: Request, command: Buffer): Verdict {
    if (this.#hellos.size >= maxHellos) throw new PlatformError("limit", `more than ${maxHellos} hello commands await an answer`);
    this.#hellos.add(request.requestId);
    return withCommand(request, command);
  }

  #answer(request: Request, document: Buffer): Verdict {
    const isAwaited = request.opcode === opcode.query || (request.flags & flag.moreToCome) === 0;
    if (isAwaited) this.#local.add(answerTo(request, document));
    return "drop";
  }

  #record(request: Request, error?: PlatformError): void {
    if (error === undefined && !isAudited(nameOf(request.command))) return;
    this.#session.touch();
    const outcome = error === undefined ? { success: true } : { success: false, error: error.message.slice(0, 2000) };
    const event = { event: "db.session.query", ...commandText(request), ...outcome } as const;
    const wait = this.#session.record(event);
    if (wait !== undefined) this.#waits.push(wait);
    this.#results.begin(request, event, this.#session.statements);
  }

  /** Bytes of an answer that are looked at. */
  #kept(header: Header): number {
    const { responseTo, length } = header;
    if (this.#hellos.has(responseTo)) return length <= maxHello ? length : 0;
    return this.#results.has(responseTo) ? keptOfReply(header) : 0;
  }

  #onClient(bytes: number): Promise<void> | undefined {
    this.#session.count({ received: bytes });
    this.#local.flush();
    return this.#held();
  }

  /** Resolves when the audit has room for more; of a strict session, once the commands since the last call are safe in it. */
  #held(): Promise<void> | undefined {
    if (this.#waits.length === 0) return undefined;
    const all = Promise.all(this.#waits).then(() => {});
    this.#waits = [];
    return all;
  }

  #judgeAnswer({ header, body, length }: Frame): Verdict {
    const { requestId, responseTo } = readHeader(header);
    const hasMore = readHeader(header).opcode === opcode.msg && (header.readUInt32LE(16) & flag.moreToCome) !== 0;
    if (this.#awaited === responseTo) this.#awaited = hasMore ? requestId : undefined;
    if (!this.#hellos.delete(responseTo)) {
      this.#session.touch();
      this.#results.settle(readHeader(header), body);
      return "pass";
    }
    // The next answer of a stream answers this one.
    if (hasMore) this.#hellos.add(requestId);
    if (length > maxHello) return "pass";
    const message = Buffer.concat([header, body]);
    const { document } = readAnswer(message);
    this.#checkMember(document);
    return withDocument(message, clientAnswer(document, this.#session.reachedAt));
  }

  /** After a failover the client must connect again, to reach the member that the uri asks for. */
  #checkMember(answer: Buffer): void {
    const facts = memberFacts(answer);
    if (!facts.ok || suitability(facts, this.#wish) !== "no") return;
    const { name } = this.#session.database;
    this.#stale = new PlatformError(
      "unavailable",
      `the server of database ${name} is not the ${this.#wish.readPreference} of its replica set any more`,
    );
    throw this.#stale;
  }
}
