import { accessSync, constants } from "node:fs";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { X11Info } from "ssh2";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { startProgram } from "../program/start-program.ts";
import { type Forwarding, handOver } from "./forwarding.ts";
import { listenOnLoopback, type TcpListener, type TcpSockets } from "./tcp-sockets.ts";

const xauth = "/usr/bin/xauth";
/** Timeout of xauth(1), which waits for the lock of ~/.Xauthority, ms. */
const xauthMs = 10_000;
/** As in sshd: display 10 is port 6010. */
const firstPort = 6010;
const mostDisplays = 1000;
/** Maximum displays of one connection: each session may have one. */
const mostOfOne = 64;

/** X11 displays on this host whose windows open at the client: one for each session that asks. */
export class X11Forwarding {
  readonly #forwarding: Forwarding;
  #open = 0;

  constructor(forwarding: Forwarding) {
    this.#forwarding = forwarding;
  }

  /** Why X11 forwarding is refused; undefined when it is possible. */
  get refusal(): string | undefined {
    if (!this.#forwarding.facts.grant.rules.x11Forwarding) return "no role allows X11 forwarding (permit_x11_forwarding: true)";
    if (this.#open >= mostOfOne) return `more than ${mostOfOne} displays on one connection`;
    return canRun(xauth) ? undefined : `${xauth} is not installed on this host`;
  }

  /** Listens, gives the user the cookie and returns the value of DISPLAY. The display ends with the session. Throws PlatformError. */
  async open(ask: X11Ask, gone: AbortSignal): Promise<string> {
    if (this.refusal !== undefined) throw new PlatformError("denied", this.refusal);
    this.#open += 1;
    let bound: TcpListener | undefined;
    const close = (): void => bound?.close();
    gone.addEventListener("abort", () => {
      this.#open -= 1;
      close();
    });
    bound = await listenOnFree(this.#forwarding.sockets, (socket) => this.#serve(socket, { single: ask.single, gone, close }));
    if (gone.aborted) close();
    const display = `${bound.port - firstPort + 10}.${ask.screen}`;
    await this.#tellUser(display, ask);
    return `localhost:${display}`;
  }

  #serve(socket: Socket, { single, gone, close }: { single: boolean; gone: AbortSignal; close: () => void }): void {
    const { connection, slots } = this.#forwarding;
    if (single) close();
    socket.allowHalfOpen = true;
    const { remoteAddress = "", remotePort = 0 } = socket;
    void handOver({ slots, gone }, socket, (done) => connection.x11(remoteAddress, remotePort, done));
  }

  /** As in sshd: clients of localhost:10 look the cookie up as this host's unix:10. It goes through standard input, never argv. */
  async #tellUser(display: string, { protocol, cookie }: X11Ask): Promise<void> {
    const { user, deps } = this.#forwarding.facts;
    const env = { HOME: user.home, USER: user.login, LOGNAME: user.login, PATH: "/usr/bin:/bin" };
    const { starter, groups } = deps;
    const program = startProgram({ user, program: { path: xauth, argv: ["xauth", "-q", "-"] }, env, starter, groups });
    const late = new AbortController();
    const { pipes } = program;
    pipes?.stdin.on("error", () => {}).end(`remove unix:${display}\nadd unix:${display} ${protocol} ${cookie}\n`);
    pipes?.stdout.resume();
    pipes?.stderr.resume();
    try {
      const limit = sleep(xauthMs, undefined, { signal: late.signal }).then(() => undefined);
      limit.catch(() => {});
      const exit = await Promise.race([program.started.then(() => program.exited), limit]);
      if (exit === undefined) program.signal("SIGKILL");
      if (exit?.code !== 0)
        throw new PlatformError("unavailable", `xauth ${exit === undefined ? "did not end" : `failed (${exit.code ?? exit.signal})`}`);
    } finally {
      late.abort();
    }
  }
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function listenOnFree(sockets: TcpSockets, arrived: (socket: Socket) => void): Promise<TcpListener> {
  let last: unknown;
  for (let port = firstPort; port < firstPort + mostDisplays; port += 1) {
    try {
      return await listenOnLoopback(sockets, port, arrived);
    } catch (thrown) {
      last = thrown;
    }
  }
  throw new PlatformError("unavailable", `no free X11 display number: ${errorText(last)}`, { cause: last });
}

/** A checked `x11-req`. */
export interface X11Ask {
  /** Authentication protocol: `MIT-MAGIC-COOKIE-1`. */
  readonly protocol: string;
  /** Hexadecimal; a secret, although the client made it up. */
  readonly cookie: string;
  readonly screen: number;
  /** Only one connection is accepted. */
  readonly single: boolean;
}

/** Longest cookie, hexadecimal digits. */
const longestCookie = 512;

/** Undefined for values that xauth(1) would reject: they become lines of its input. Pure. */
export function parseX11Ask(info: Partial<X11Info>): X11Ask | undefined {
  const { protocol = "", cookie = "", screen = 0, single = false } = info as Partial<Record<keyof X11Info, unknown>>;
  const text = Buffer.isBuffer(cookie) ? cookie.toString("latin1") : String(cookie);
  if (!/^[A-Za-z0-9-]{1,64}$/.test(String(protocol))) return undefined;
  if (!/^(?:[0-9A-Fa-f]{2})+$/.test(text) || text.length > longestCookie) return undefined;
  if (typeof screen !== "number" || !Number.isInteger(screen) || screen < 0 || screen > 400) return undefined;
  return { protocol: String(protocol), cookie: text, screen, single: single === true };
}
