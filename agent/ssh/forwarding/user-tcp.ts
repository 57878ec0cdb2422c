import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { getSystemErrorName } from "node:util";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { SessionGroups } from "../../host/cgroups/session-groups.ts";
import { packetPair, takeDescriptor } from "../../host/spawn.ts";
import type { UnixUser } from "../../host/unix-user.ts";
import { sessionOrder } from "../program/session-order.ts";
import { type StartedProgram, startProcess } from "../program/start-program.ts";
import { connectMs, type TcpAddress, type TcpListener, type TcpSockets, timedOut } from "./tcp-sockets.ts";

export interface UserTcpOptions {
  readonly user: UnixUser;
  /** Path of `session-start`. */
  readonly starter: string;
  readonly groups?: SessionGroups | undefined;
}

/** Timeout for a listener, ms. */
const answerMs = 10_000;
/** Maximum incomplete line, characters: a process that sends more is not ours. */
const longestLine = 256;
/** Maximum unread requests, bytes. */
const mostUnread = 65_536;

interface Waiting {
  readonly resolve: (value: { readonly descriptor?: number; readonly value: number }) => void;
  readonly reject: (error: Error) => void;
}

/** The process that makes the sockets, and its pending requests. */
interface Maker {
  readonly program: StartedProgram;
  /** Our end of the pair through which sockets come. */
  readonly sockets: number;
  readonly waiting: Map<number, Waiting>;
  readonly arrived: Map<number, (socket: Socket) => void>;
  isOver: boolean;
}

/**
 * TCP sockets on behalf of a Unix user: `session-start sockets`, one for an SSH connection, started when the first is needed. It makes
 * them as the user, in the user's control group, so that the kernel's rules for the user apply (owner matches, ports below 1024, limits).
 */
export class UserTcp implements TcpSockets {
  readonly #options: UserTcpOptions;
  #maker: Maker | undefined;
  #asked = 0;
  #isClosed = false;

  constructor(options: UserTcpOptions) {
    this.#options = options;
  }

  async connect(address: TcpAddress, gone: AbortSignal): Promise<Socket> {
    if (gone.aborted) throw new Error("the client disconnected");
    const { maker, id, answer } = this.#ask("connect", address);
    const failed = Promise.withResolvers<never>();
    const abort = (): void => failed.reject(new Error("the client disconnected"));
    const timer = setTimeout(() => failed.reject(timedOut()), connectMs);
    gone.addEventListener("abort", abort, { once: true });
    try {
      const { descriptor } = await Promise.race([answer, failed.promise]);
      return socketOf(descriptor);
    } catch (thrown) {
      this.#forget(maker, id);
      throw thrown;
    } finally {
      clearTimeout(timer);
      gone.removeEventListener("abort", abort);
    }
  }

  async listen(address: TcpAddress, arrived: (socket: Socket) => void): Promise<TcpListener> {
    const { maker, id, answer } = this.#ask("listen", address);
    // It answers at once unless the user has stopped it.
    const timer = setTimeout(() => this.#end(maker, timedOut()), answerMs);
    // Before the answer: the first connection may come with it.
    maker.arrived.set(id, arrived);
    try {
      const { value: port } = await answer;
      return { port, close: () => this.#forget(maker, id) };
    } catch (thrown) {
      this.#forget(maker, id);
      throw thrown;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#isClosed = true;
    if (this.#maker !== undefined) this.#end(this.#maker, "the client disconnected");
  }

  #ask(
    what: "connect" | "listen",
    { host, port }: TcpAddress,
  ): { maker: Maker; id: number; answer: Promise<{ descriptor?: number; value: number }> } {
    if (this.#isClosed) throw new Error("the client disconnected");
    this.#maker ??= this.#start();
    const maker = this.#maker;
    this.#asked += 1;
    const id = this.#asked;
    const answer = new Promise<{ descriptor?: number; value: number }>((resolve, reject) => maker.waiting.set(id, { resolve, reject }));
    // The caller that waits may have left.
    answer.catch(() => {});
    this.#say(maker, `${what} ${id} ${port} ${host}`);
    return { maker, id, answer };
  }

  /** A socket that still comes for it is closed. */
  #forget(maker: Maker, id: number): void {
    maker.waiting.delete(id);
    maker.arrived.delete(id);
    this.#say(maker, `forget ${id}`);
  }

  #say(maker: Maker, line: string): void {
    const { stdin } = maker.program.pipes ?? {};
    if (stdin === undefined || maker.isOver) return;
    stdin.write(`${line}\n`);
    if (stdin.writableLength > mostUnread) this.#end(maker, "it does not read requests");
  }

  #start(): Maker {
    const { user, starter, groups } = this.#options;
    const [ours, theirs] = packetPair();
    let program: StartedProgram;
    try {
      const env = { ...sessionOrder({ user, becomes: true }) };
      program = startProcess({ command: starter, args: ["sockets"], env, hasPipes: true, more: theirs, group: groups?.make(user.uid) });
    } catch (thrown) {
      closeSync(ours);
      throw thrown;
    } finally {
      closeSync(theirs);
    }
    const maker: Maker = { program, sockets: ours, waiting: new Map(), arrived: new Map(), isOver: false };
    program.started.catch((thrown: unknown) => this.#end(maker, thrown));
    const { pipes } = program;
    pipes?.stdin.on("error", () => {});
    pipes?.stderr.on("error", () => {}).resume();
    this.#read(maker);
    return maker;
  }

  #read(maker: Maker): void {
    const { stdout } = maker.program.pipes ?? {};
    let held = "";
    stdout?.on("data", (chunk: Buffer) => {
      const lines = (held + chunk.toString("latin1")).split("\n");
      held = lines.pop() ?? "";
      for (const line of lines) this.#take(maker, line);
      if (held.length > longestLine) this.#end(maker, "it sent an invalid line");
    });
    stdout?.on("error", () => {}).once("close", () => this.#end(maker, "it ended"));
  }

  #take(maker: Maker, line: string): void {
    const [, idText, what, valueText] = /^(\d+) (connected|listening|arrived|failed) (\d+)$/.exec(line) ?? [];
    const [id, value] = [Number(idText), Number(valueText)];
    const carries = what === "connected" || what === "arrived";
    const [of, descriptor] = (carries ? takeDescriptor(maker.sockets) : undefined) ?? [];
    if (what === undefined || (carries && of !== id)) {
      if (descriptor !== undefined) closeSync(descriptor);
      this.#end(maker, "it sent an invalid line");
      return;
    }
    const arrived = what === "arrived" ? maker.arrived.get(id) : undefined;
    const waiting = what === "arrived" ? undefined : maker.waiting.get(id);
    if (what !== "arrived") maker.waiting.delete(id);
    if (descriptor !== undefined && arrived !== undefined) arrived(socketOf(descriptor));
    else if (waiting === undefined && descriptor !== undefined) closeSync(descriptor);
    else if (what === "failed") waiting?.reject(systemError(value));
    else waiting?.resolve({ value, ...(descriptor !== undefined && { descriptor }) });
  }

  #end(maker: Maker, why: unknown): void {
    if (this.#maker === maker) this.#maker = undefined;
    if (maker.isOver) return;
    maker.isOver = true;
    const { program, waiting, arrived, sockets } = maker;
    const error = why instanceof Error ? why : new PlatformError("unavailable", `the process for the user's sockets failed: ${String(why)}`);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    arrived.clear();
    for (const stream of Object.values(program.pipes ?? {})) stream.destroy();
    program.signal("SIGKILL");
    closeSync(sockets);
  }
}

function socketOf(descriptor: number | undefined): Socket {
  if (descriptor === undefined) throw new Error("the helper process returned no socket");
  const socket = new Socket({ fd: descriptor, allowHalfOpen: true });
  return socket.pause();
}

function systemError(errno: number): Error {
  const code = getSystemErrorName(-errno);
  return Object.assign(new Error(code), { code, errno: -errno });
}
