import type { Socket } from "node:net";
import type { Channel } from "ssh2";
import { couple } from "../../../core/ssh/couple.ts";
import type { Forwards } from "./forwards.ts";
import { reach } from "./reach.ts";
import { createSocksParser, type SocksStep, socksReply } from "./socks.ts";

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
