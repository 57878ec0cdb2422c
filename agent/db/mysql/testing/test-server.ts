import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { errorPacket } from "../../../../core/databases/mysql/error-packet.ts";
import { encodeGreeting } from "../../../../core/databases/mysql/greeting.ts";
import { packet } from "../../../../core/databases/mysql/packet.ts";
import type { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "../../../../test/inside/engine-session.ts";
import { parseLogin } from "../login-packet.ts";
import { mysqlEngine } from "../serve-mysql.ts";
import { okPacket } from "../server-answer.ts";
import { read } from "./test-client.ts";

export interface StartedSession extends InsideEngineSession {
  readonly ended: Promise<PlatformError | undefined>;
}

/** A server of which each connection is one `serve`; TLS is left out. */
export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /** Logins, in order. */
  readonly logins: string[];
  /** What it does after a login; default: it answers that the login has succeeded. */
  serve: (socket: Socket, login: Buffer) => Promise<void>;
  /** Capabilities of its greeting; default: those of a recent server. */
  flags: number;
  /** Its number of a connection; default: 42. */
  thread: number;
  /** A session with it. `reaches`: the engine may ask it for its greeting before the login. */
  start(options?: Partial<EngineSessionOptions>, reaches?: boolean, engine?: ReturnType<typeof mysqlEngine>): Promise<StartedSession>;
}

export async function startTestServer(): Promise<TestServer> {
  const listener = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on("error", () => {});
    void greet(socket, test).catch(() => socket.destroy());
  });
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const { port } = listener.address() as AddressInfo;
  const reach = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  const test: TestServer = {
    port,
    logins: [],
    serve: async (socket) => void socket.write(okPacket(3, 2)),
    flags: 0xdfff_ffff,
    thread: 42,
    start: async (options = {}, reaches = false, engine = mysqlEngine()) => {
      const inside = await engineSession({ protocol: "mysql", port, ...options });
      return { ...inside, ended: engine({ ...inside.session, ...(reaches && { reach }) }) };
    },
    [Symbol.asyncDispose]: async () => void listener.close(),
  };
  return test;
}

async function greet(socket: Socket, { flags, thread, logins, serve }: TestServer): Promise<void> {
  const capabilities = { flags, extended: 0 };
  const salt = Buffer.alloc(20, 7);
  const plugin = "caching_sha2_password";
  socket.write(packet(0, encodeGreeting({ version: "9.7.4", connectionId: thread, salt, capabilities, charset: 255, status: 2, plugin })));
  const first = await read(socket, 1);
  if (first.length > 32) {
    logins.push(`${parseLogin(first).user} without TLS`);
    return void socket.end(errorPacket(2, { code: 1045, state: "28000", message: "no such account" }));
  }
  const second = await read(socket, 2);
  logins.push(parseLogin(second).user);
  await serve(socket, second);
}
