import type { Socket } from "node:net";
import { z } from "zod";
import { errorCodes, errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { parseJson } from "../../../core/resources/document.ts";
import { connectionProblemSchema } from "./process-state.ts";

/*
 * Messages between the previous process and its successor on descriptor 3 of the latter, a stream
 * socket: one JSON object per line. The two are of different versions, so unknown fields and messages are ignored.
 *
 *   old                                   new
 *    | offer (listening sockets)  ------>  |  starts, does not accept yet
 *    |  <------  state, every second       |  or `failed`, and ends
 *    | takeOver (hosts)           ------>  |  pid file, accepts
 *    |  <------  taken                     |
    | MAINPID= to systemd; announced ---> |  from now on systemd hears it
 *    | stops accepting, drains             |
 *    | reload / the end           ------>  |  <- SIGHUP that still reached the old one
 *    |  <------  stop                      |  stopped before the old one has ended
 *   abandon instead of takeOver: the new one stops. The end of the socket before either: the new one takes over.
 */

const text = z.string().max(4_000);
const socketSchema = z.object({ name: z.string().max(512), fd: z.int().min(3).max(65_535), port: z.int().min(0).max(65_535) });
const hostSchema = z.object({ id: z.string().max(256), names: z.array(z.string().max(512)).max(64) });

const fromOldSchema = z.discriminatedUnion("type", [
  // `announces`: it names the main process to the service manager itself; left out: it leaves that to the new one.
  // `dataDir`, `folder`: where its state is, and which folder that was at its start (device and inode); an earlier version leaves them out.
  z.object({
    type: z.literal("offer"),
    pid: z.int(),
    sockets: z.array(socketSchema).max(64),
    announces: z.boolean().optional(),
    dataDir: z.string().max(4_096).optional(),
    folder: z.string().max(64).optional(),
  }),
  z.object({ type: z.literal("takeOver"), hosts: z.array(hostSchema).max(200_000) }),
  z.object({ type: z.literal("announced") }),
  z.object({ type: z.literal("abandon") }),
  z.object({ type: z.literal("reload") }),
]);
const fromNewSchema = z.discriminatedUnion("type", [
  // `problem`: why it is not connected; an earlier version leaves it out.
  z.object({
    ...{ type: z.literal("state"), pid: z.int(), version: z.string().max(64), ready: z.boolean() },
    problem: connectionProblemSchema.optional().catch(undefined),
  }),
  // `code`: an earlier version leaves it out, a later one may have others.
  z.object({ type: z.literal("failed"), error: text, code: z.enum(errorCodes).optional().catch(undefined) }),
  z.object({ type: z.literal("taken") }),
  z.object({ type: z.literal("stop") }),
]);
export type FromOld = z.infer<typeof fromOldSchema>;
export type FromNew = z.infer<typeof fromNewSchema>;

/** Longest line, bytes: the names of 100,000 hosts. */
const maxLine = 32 * 1024 * 1024;

export function encodeMessage(message: FromOld | FromNew): string {
  return `${JSON.stringify(message)}\n`;
}

/** `undefined` for a message of a later version. Throws PlatformError `invalid`. */
export function decodeFromOld(line: string): FromOld | undefined {
  return decode(fromOldSchema, line);
}

export function decodeFromNew(line: string): FromNew | undefined {
  return decode(fromNewSchema, line);
}

const typeSchema = z.object({ type: z.string() });

function decode<T extends { type: string }>(
  schema: z.ZodDiscriminatedUnion<readonly z.core.$ZodTypeDiscriminable[]> & z.ZodType<T>,
  line: string,
): T | undefined {
  const value = parseJson(line, "a message from the other process");
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (typeSchema.safeParse(value).success && issue?.code === "invalid_union") return undefined;
  throw new PlatformError("invalid", `a message from the other process is malformed at ${issue?.path.join(".") || "the top"}`);
}

interface ChannelEvents<T> {
  /** `undefined`: a message of a later version. Throws for anything else: then the channel ends. */
  readonly decode: (line: string) => T | undefined;
  readonly onMessage: (message: T) => void;
  /** Once; with the reason when the other process broke the protocol. */
  readonly onEnd: (fault?: string) => void;
}

/** The socket between two processes, message by message. */
export class MessageChannel<T> {
  readonly #socket: Socket;
  readonly #events: ChannelEvents<T>;
  #held = "";
  #isOver = false;

  constructor(socket: Socket, events: ChannelEvents<T>) {
    this.#socket = socket;
    this.#events = events;
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => this.#read(chunk));
    socket.on("error", () => this.#end());
    socket.once("end", () => this.#end());
    socket.once("close", () => this.#end());
    if (socket.destroyed || socket.readableEnded) queueMicrotask(() => this.#end());
  }

  get isOpen(): boolean {
    return !this.#isOver;
  }

  send(message: FromOld | FromNew): void {
    if (this.#isOver || !this.#socket.writable) return;
    this.#socket.write(encodeMessage(message));
  }

  /** Data sent before still arrives. */
  close(): void {
    this.#isOver = true;
    this.#socket.end();
  }

  destroy(): void {
    this.#isOver = true;
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    const lines = (this.#held + chunk).split("\n");
    this.#held = lines.pop() ?? "";
    try {
      if (this.#held.length > maxLine) throw new Error("a message from the other process is too long");
      for (const line of lines) {
        const message = this.#isOver ? undefined : this.#events.decode(line);
        if (message !== undefined) this.#events.onMessage(message);
      }
    } catch (thrown) {
      this.#end(errorText(thrown));
    }
  }

  #end(fault?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroy();
    this.#events.onEnd(fault);
  }
}
