import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { takeBytes } from "../../../../core/databases/take-bytes.ts";
import { decodeFirstPacket, type FirstPacket } from "../first-packet.ts";
import { authenticationOk, keyData, ready } from "./postgres-bytes.ts";

export interface FakeServer extends AsyncDisposable {
  readonly port: number;
  /** First packets after the request for TLS, in order. */
  readonly packets: FirstPacket[];
  /** Number of requests for TLS. */
  readonly requests: number;
  /** Connections that sent a startup packet. */
  readonly sessions: Socket[];
}

export interface FakeServerOptions {
  /** Sent for the request for TLS; default: a yes. The connection goes on as it is. */
  readonly answer?: string;
  /** Sent for the startup packet; default: a login. */
  readonly greeting?: Buffer;
  readonly secret?: Buffer;
  /** Whether it closes each session after the login. */
  readonly closes?: boolean;
}

export const serverPid = 4711;

/** A PostgreSQL server of a few bytes, without TLS behind its yes to it. */
export async function fakeServer({
  answer = "S",
  greeting,
  secret = Buffer.from("real"),
  closes = false,
}: FakeServerOptions = {}): Promise<FakeServer> {
  const packets: FirstPacket[] = [];
  const sessions: Socket[] = [];
  const sockets = new Set<Socket>();
  let requests = 0;
  const login = greeting ?? Buffer.concat([authenticationOk, keyData(serverPid, secret), ready]);
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    const next = (): Promise<Buffer> =>
      takeBytes(socket, { enough: wholePacket, timeoutMs: 10_000, what: "a packet", signal: new AbortController().signal });
    const serve = async (): Promise<void> => {
      await next();
      requests += 1;
      socket.write(answer);
      const packet = decodeFirstPacket(await next());
      packets.push(packet);
      if (packet.kind !== "startup") return void socket.end();
      sessions.push(socket);
      if (closes) socket.resume().end(login);
      else socket.write(login);
    };
    serve().catch(() => socket.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    packets,
    sessions,
    get requests() {
      return requests;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function wholePacket(bytes: Buffer): number | undefined {
  return bytes.length < 4 ? undefined : bytes.readUInt32BE(0);
}
