import type { Socket } from "node:net";
import type { Channel, Client } from "ssh2";
import { errorText } from "../../../core/errors/platform-error.ts";
import { couple } from "../../../core/ssh/couple.ts";
import type { CliIo } from "../../io.ts";
import { writeNote } from "../../output.ts";
import type { Endpoint } from "./forward-spec.ts";
import { createSocksParser, type SocksStep, socksReply } from "./socks.ts";

/** State shared by all forwards of one connection. */
export interface Forwards {
  readonly client: Client;
  readonly io: CliIo;
  /** Ends all forwards. */
  readonly gone: AbortSignal;
}

/** Serves one connection to `-L`: connects to its target from the host, copies. Never throws. */
export async function serveLocal({ client, io, gone }: Forwards, socket: Socket, to: Endpoint): Promise<void> {
  socket.on("error", () => {});
  try {
    await couple(await reach(client, to, socket), socket, gone);
  } catch (thrown) {
    // In ssh's own words, which people search for.
    writeNote(io, `channel: ${openFailure(thrown)}`);
    socket.destroy();
  }
}

/** RFC 4254. */
const reasons: Readonly<Record<number, string>> = { 1: "administratively prohibited", 2: "connect failed", 4: "resource shortage" };

function openFailure(thrown: unknown): string {
  const { reason } = thrown as { reason?: number };
  const text = errorText(thrown).replace(/^\(SSH\) Channel open failure: /, "");
  return `open failed: ${reason === undefined ? "" : `${reasons[reason] ?? "unknown"}: `}${text}`;
}

/** Opens a channel from the host to the target. Throws ssh2's error, with the host's message. */
function reach(client: Client, to: Endpoint, from: Pick<Socket, "remoteAddress" | "remotePort">): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new Error("the connection to the host was lost"));
    const done = (error: Error | undefined, channel: Channel): void => {
      client.off("close", lost);
      if (error === undefined) resolve(channel);
      else reject(error);
    };
    client.once("close", lost);
    if ("path" in to) client.openssh_forwardOutStreamLocal(to.path, done);
    else client.forwardOut(from.remoteAddress ?? "127.0.0.1", from.remotePort ?? 0, to.host, to.port, done);
  });
}

/** Time limit of a whole request, ms. */
const requestMs = 30_000;
/** RFC 4254: refused by the host's own policy. */
const prohibited = 1;

type Request = Extract<SocksStep, { want: "connect" }>;

/** Serves one connection to `-D`: reads its target, connects there from the host, copies. Never throws. */
export async function serveSocks({ client, gone }: Forwards, socket: Socket): Promise<void> {
  socket.on("error", () => {});
  const timer = setTimeout(() => socket.destroy(), requestMs);
  try {
    const request = await readRequest(socket);
    if (request === undefined) return;
    const channel = await openFor(request, () => reach(client, { host: request.host, port: request.port }, socket), socket);
    if (channel === undefined) return;
    clearTimeout(timer);
    if (request.rest.length > 0) channel.write(request.rest);
    await couple(channel, socket, gone);
  } finally {
    clearTimeout(timer);
  }
}

async function openFor({ version }: Request, open: () => Promise<Channel>, socket: Socket): Promise<Channel | undefined> {
  try {
    const channel = await open();
    socket.write(socksReply(version, "connected"));
    return channel;
  } catch (thrown) {
    const { reason } = thrown as { reason?: number };
    socket.end(socksReply(version, reason === prohibited ? "prohibited" : "refused"));
    return undefined;
  }
}

/** Undefined when there was no request: the socket is closed then. */
function readRequest(socket: Socket): Promise<Request | undefined> {
  const parser = createSocksParser();
  return new Promise((resolve) => {
    const finish = (request?: Request): void => {
      socket.off("data", onData).off("end", onEnd).off("close", onEnd).pause();
      resolve(request);
    };
    const onEnd = (): void => {
      socket.destroy();
      finish();
    };
    const onData = (chunk: Buffer): void => {
      const step = parser.feed(chunk);
      if (step.reply !== undefined) socket.write(step.reply);
      if (step.want === "more") return;
      if (step.want === "close") socket.end();
      finish(step.want === "connect" ? step : undefined);
    };
    socket.on("data", onData).on("end", onEnd).on("close", onEnd).resume();
  });
}
