import { randomBytes, timingSafeEqual } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { Channel, Client, X11Options } from "ssh2";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { couple } from "../../../core/ssh/couple.ts";
import type { CliIo } from "../../io.ts";
import { writeNote } from "../../output.ts";
import { cookieProtocol, type Display, findCookie, makeUntrustedCookie, parseDisplay } from "./local-display.ts";

/** Time limit for the first bytes of a connection, and for the X server's answer, ms. */
const openingMs = 30_000;
/** Like ssh's ForwardX11Timeout: windows opened later are refused. */
const untrustedMs = 20 * 60_000;
/** How much longer the X server accepts a cookie that we already refuse, seconds. */
const slackSeconds = 60;

export interface X11 {
  readonly display: Display;
  readonly cookies: Cookies;
  /** For the session's request: the cookie in it is the fake one. */
  readonly ask: X11Options & { readonly protocol: string; readonly cookie: Buffer };
  /** On the clock of `performance.now`. */
  readonly until: number;
}

/** Finds the display and its cookie. Throws PlatformError. */
export async function prepareX11(env: CliIo["env"], isTrusted: boolean): Promise<X11> {
  const display = parseDisplay(env.DISPLAY ?? "");
  if (display === undefined) {
    const text = env.DISPLAY
      ? `DISPLAY is ${JSON.stringify(env.DISPLAY)}, which names no X server`
      : "there is no X server here (DISPLAY is not set)";
    throw new PlatformError("unavailable", text);
  }
  const { name, screen } = display;
  const real = await (isTrusted ? findCookie(name, env) : makeUntrustedCookie(name, untrustedMs / 1000 + slackSeconds, env));
  const fake = randomBytes(real.length);
  return {
    display,
    cookies: { fake, real },
    ask: { single: false, protocol: cookieProtocol, cookie: fake, screen },
    until: isTrusted ? Number.POSITIVE_INFINITY : performance.now() + untrustedMs,
  };
}

/** Connects the host's programs to the local X server, until the connection ends. */
export function serveX11(client: Client, x11: X11, io: CliIo): void {
  const gone = new AbortController();
  client.once("close", () => gone.abort());
  client.on("x11", (_from, accept, reject) => {
    if (performance.now() > x11.until) {
      writeNote(io, "X11 connection refused: the time limit for untrusted clients is over (-Y has none)");
      return reject();
    }
    void serve(accept(), x11, gone.signal).catch((thrown: unknown) => writeNote(io, `X11 connection rejected: ${errorText(thrown)}`));
  });
}

async function serve(channel: Channel, { display, cookies }: X11, gone: AbortSignal): Promise<void> {
  channel.on("error", () => {});
  try {
    const opening = await readOpening(channel, cookies);
    const socket = await connectHere(display.connect, gone);
    socket.write(opening);
    await couple(channel, socket, gone);
  } catch (thrown) {
    channel.resume();
    channel.close();
    throw thrown;
  }
}

function readOpening(channel: Channel, cookies: Cookies): Promise<Buffer> {
  const swap = createCookieSwap(cookieProtocol, cookies);
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      channel.off("data", onData).off("end", onEnd).off("close", onEnd).pause();
    };
    const fail = (text: string): void => {
      settle();
      reject(new PlatformError("denied", text));
    };
    const onEnd = (): void => fail("it ended before its first bytes arrived");
    const timer = setTimeout(() => fail("its first bytes did not arrive"), openingMs);
    const onData = (chunk: Buffer): void => {
      const step = swap(chunk);
      if (step.want === "refuse") fail("wrong authentication");
      if (step.want !== "pass") return;
      settle();
      resolve(step.bytes);
    };
    channel.on("data", onData).on("end", onEnd).on("close", onEnd);
  });
}

function connectHere(to: Display["connect"], gone: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...to, allowHalfOpen: true });
    const drop = (): void => void socket.destroy(new Error("the X server did not answer"));
    const timer = setTimeout(drop, openingMs);
    gone.addEventListener("abort", drop, { once: true });
    const settle = (): void => {
      clearTimeout(timer);
      gone.removeEventListener("abort", drop);
    };
    socket.once("error", (error) => {
      settle();
      reject(error);
    });
    socket.once("connect", () => {
      settle();
      resolve(socket.on("error", () => {}).pause());
    });
  });
}

/** The beginning of an X11 connection: byte order, version, then the name and the data of the authentication, each padded to four bytes. */
const headLength = 12;
/** Upper bound, above the lengths that X11 uses. */
const longest = 1024;

export type SwapStep = { readonly want: "more" } | { readonly want: "refuse" } | { readonly want: "pass"; readonly bytes: Buffer };

interface Cookies {
  /** The cookie given to the host. */
  readonly fake: Buffer;
  /** The cookie that the local X server knows; of the same length. */
  readonly real: Buffer;
}

/**
 * Checks the first bytes from the host: only a client with the fake cookie passes, and gets the real one, which the host never learns.
 * Bytes in, decision out.
 */
export function createCookieSwap(protocol: string, { fake, real }: Cookies): (chunk: Buffer) => SwapStep {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    if (held.length < headLength) return { want: "more" };
    const order = held[0];
    if (order !== 0x42 && order !== 0x6c) return { want: "refuse" };
    const read = (at: number): number => (order === 0x42 ? held.readUInt16BE(at) : held.readUInt16LE(at));
    const [nameLength, dataLength] = [read(6), read(8)];
    if (nameLength > longest || dataLength > longest) return { want: "refuse" };
    const dataAt = headLength + padded(nameLength);
    if (held.length < dataAt + padded(dataLength)) return { want: "more" };
    const name = held.subarray(headLength, headLength + nameLength).toString("latin1");
    const data = held.subarray(dataAt, dataAt + dataLength);
    if (name !== protocol || data.length !== fake.length || !timingSafeEqual(data, fake)) return { want: "refuse" };
    const bytes = Buffer.from(held);
    real.copy(bytes, dataAt);
    return { want: "pass", bytes };
  };
}

function padded(length: number): number {
  return (length + 3) & ~3;
}
