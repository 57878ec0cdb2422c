import type { Readable } from "node:stream";
import type { WebSocket } from "ws";
import type { TerminalNotice } from "../../../../core/api/web/terminal.ts";
import { terminalControlSchema } from "../../../../core/api/web/terminal.ts";
import { GatheringWriter } from "../../../../core/bytes/gathering-writer.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { SocketInbox, SocketMessage } from "../api/socket-inbox.ts";
import { readText } from "./read-text.ts";
import type { Shell } from "./shell.ts";

export interface RelayFacts {
  readonly socket: WebSocket;
  readonly inbox: SocketInbox;
  readonly signal: AbortSignal;
  /** Called for everything that the user types. */
  readonly typed: () => void;
}

/**
 * Maximum bytes that the page has not shown yet, or the browser not taken, and those at which the host is read again: a page in the background does not grow.
 */
const [mostUnread, fewUnread] = [524_288, 131_072] as const;

/**
 * Passes bytes between a browser and a terminal until one of them ends. Neither side is read while the other is behind. Resolves with what to report; throws
 * `invalid` for a message that is not one of ours, or that reports more as shown than was sent, and the signal's reason.
 */
export async function relayTerminal(shell: Shell, { socket, inbox, signal, typed }: RelayFacts): Promise<TerminalNotice> {
  const broken = Promise.withResolvers<never>();
  const onAbort = (): void => broken.reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const screen = passOutput(shell.outputs, socket);
  const answer = pulseAnswers(socket);
  const left = Promise.withResolvers<void>();
  inbox.follow((message) => {
    try {
      take(message, { shell, inbox, screen, typed, leave: left.resolve, answer });
    } catch (thrown) {
      broken.reject(thrown);
    }
  });
  try {
    const isLeft = await Promise.race([shell.closed.then(() => false), left.promise.then(() => true), broken.promise]);
    screen.flush();
    return { type: "ended", ...(isLeft ? { reason: "you left" } : endOf(shell)) };
  } finally {
    signal.removeEventListener("abort", onAbort);
    inbox.forget();
  }
}

function endOf(shell: Shell): { readonly status?: number; readonly reason?: string } {
  const end = shell.ended();
  return end.status === undefined && end.reason === undefined ? { reason: `the connection to ${shell.host} was lost` } : end;
}

/** What the page still has to show. */
interface Screen {
  /** The page has shown so many bytes. Throws `invalid` for more than it was sent. */
  shown(bytes: number): void;
  /** Sends what waits, whatever the browser takes. */
  flush(): void;
}

/** The page's own count bounds what it has to show, and the connection's what a browser that reads nothing leaves here, whatever it reports. */
function passOutput(outputs: readonly Readable[], socket: WebSocket): Screen {
  let unread = 0;
  let isPaused = false;
  const writer = new GatheringWriter((bytes, done) => {
    const sent = (): void => {
      done();
      goOn();
    };
    if (socket.readyState === socket.OPEN) socket.send(bytes, sent);
    else sent();
  });
  const goOn = (): void => {
    if (!isPaused || unread > fewUnread || writer.length > fewUnread) return;
    isPaused = false;
    for (const one of outputs) one.resume();
  };
  for (const output of outputs) {
    output.on("data", (chunk: Buffer) => {
      unread += chunk.length;
      writer.add(chunk);
      if (unread <= mostUnread && writer.length <= mostUnread) return;
      isPaused = true;
      for (const one of outputs) one.pause();
    });
  }
  return {
    shown: (bytes) => {
      if (bytes > unread)
        throw new PlatformError("invalid", "the browser reports more output as shown than it was sent", { hint: "reload the page" });
      unread -= bytes;
      goOn();
    },
    flush: () => writer.flush(),
  };
}

/** Answers that the page gets when it asks whether this proxy is still there: none while the one before has not left. */
function pulseAnswers(socket: WebSocket): () => void {
  const alive: TerminalNotice = { type: "alive" };
  let isSending = false;
  return () => {
    if (isSending || socket.readyState !== socket.OPEN) return;
    isSending = true;
    socket.send(JSON.stringify(alive), () => {
      isSending = false;
    });
  };
}

interface Taking extends Pick<RelayFacts, "inbox" | "typed"> {
  readonly shell: Shell;
  readonly screen: Screen;
  readonly leave: () => void;
  /** The page asks whether this proxy is still there. */
  readonly answer: () => void;
}

function take({ isBinary, data }: SocketMessage, { shell: { input, resize }, inbox, screen, typed, leave, answer }: Taking): void {
  if (isBinary) {
    typed();
    if (input.writable && !input.write(data)) {
      inbox.hold();
      input.once("drain", () => inbox.release());
    }
    return;
  }
  const parsed = terminalControlSchema.safeParse(readText(data));
  if (!parsed.success) throw new PlatformError("invalid", "the browser sent a message that is not one of a terminal");
  const control = parsed.data;
  if (control.type === "read" && control.bytes === 0) answer();
  else if (control.type === "read") screen.shown(control.bytes);
  else if (control.type === "end") leave();
  else resize(control);
}
