import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { DatabaseEvent } from "../engine.ts";
import type { Frame, FrameFormat, Verdict } from "../frame-filter.ts";
import { type CommandFacts, type Decision, decideCommand, keptOfCommand } from "./commands.ts";
import type { Expected, Replies } from "./replies.ts";
import { maxPayload } from "./wire.ts";

/** COM_PING: goes to the server in place of a refused command, so that the refusal comes in the order of the commands. */
const ping = Buffer.of(0x0e);
/** COM_QUIT. */
const quit = 0x01;
/** Bytes of a packet that broke the protocol, for the audit; never a text of it. */
const shownBytes = 16;

/** A command that goes over several packets. */
interface Open {
  readonly decision: Decision;
  /** Undefined: the server does not answer it. */
  readonly expected: Expected | undefined;
  length: number;
  sequence: number;
}

/** The packets of the client: each command is recorded and decided before the server gets the end of it. */
export class ClientCommands {
  readonly #facts: CommandFacts;
  readonly #replies: Replies;
  #open: Open | undefined;
  #first: Buffer = Buffer.alloc(0);
  #hasLeft = false;

  constructor(facts: CommandFacts, replies: Replies) {
    this.#facts = facts;
    this.#replies = replies;
  }

  get format(): FrameFormat {
    return { ...packetFormat, keep: () => (this.#open === undefined ? keptOfCommand : 0) };
  }

  /** Whether the client has said goodbye (COM_QUIT). */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** The beginning of the latest command. */
  get beginning(): Buffer {
    return this.#first;
  }

  /** Throws PlatformError `invalid` for a packet that clients do not send. */
  judge(frame: Frame): Verdict {
    const { header, body, length } = frame;
    const payload = length - header.length;
    const sequence = header[3] ?? 0;
    if (this.#open !== undefined) return this.#further(this.#open, payload, sequence);
    this.#first = Buffer.from(Buffer.concat([header, body.subarray(0, shownBytes - header.length)]));
    if (sequence !== 0) throw new PlatformError("invalid", `a command has the packet number ${sequence} instead of 0`);
    this.#hasLeft ||= body[0] === quit;
    const whole = payload < maxPayload;
    const decision = decideCommand({ body: whole ? body : Buffer.from(body), length: payload, whole }, this.#facts);
    if (decision === undefined) throw new PlatformError("invalid", `the command ${body[0] ?? "without a number"} is not known`);
    const open: Open = { decision, expected: this.#expect(decision), length: payload, sequence };
    if (whole) this.#complete(open);
    else this.#open = open;
    if (decision.refusal !== undefined) return packet(0, ping);
    return decision.instead === undefined ? "pass" : packet(0, decision.instead);
  }

  #expect({ answer, refusal, onPrepared }: Decision): Expected | undefined {
    if (refusal === undefined && answer === undefined) return undefined;
    const expected: Expected =
      refusal === undefined ? { shape: answer ?? "ok", ...(onPrepared && { onPrepared }) } : { shape: "ok", instead: refusal };
    this.#replies.expect(expected);
    return expected;
  }

  #further(open: Open, payload: number, sequence: number): Verdict {
    if (sequence !== ((open.sequence + 1) & 255)) throw new PlatformError("invalid", "the packets of a command are out of order");
    open.sequence = sequence;
    open.length += payload;
    if (payload < maxPayload) {
      this.#open = undefined;
      this.#complete(open);
    }
    return open.decision.refusal === undefined ? "pass" : "drop";
  }

  #complete({ decision, expected, length, sequence }: Open): void {
    const { event, refusal } = decision;
    const facts = event?.(length, (later) => this.#record(later, expected));
    if (facts !== undefined) this.#record(facts, expected);
    this.#replies.sent(refusal === undefined ? sequence : 0);
  }

  #record(event: DatabaseEvent, expected: Expected | undefined): void {
    const { record, log } = this.#facts;
    record(event);
    const result = log?.begin(event);
    if (expected !== undefined) expected.result = result;
  }
}

/** `length u24le | sequence u8 | payload`. */
export const packetFormat: Omit<FrameFormat, "keep"> = { headerBytes: 4, lengthOf: (header) => 4 + header.readUIntLE(0, 3) };
