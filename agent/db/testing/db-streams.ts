import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, createServer, type TLSSocket } from "node:tls";
import { expect } from "vitest";
import type { HostCredentials } from "../../../core/api/host-credentials.ts";
import type { AuditFacts } from "../../../core/audit/audit-events.ts";
import { proveSession } from "../../../core/identity/session-proof.ts";
import { alpn, roleServerName } from "../../../core/transport/alpn.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage, type StreamRequest } from "../../../core/transport/stream-request.ts";
import { type InsideAuthorities, insideAuthorities } from "../../../test/inside/authorities.ts";
import { databaseAuthority } from "../../../test/inside/database-authority.ts";
import { type DatabaseRole, databaseRole, testDatabase } from "../../../test/inside/database-user.ts";
import { serviceDeps } from "../../../test/inside/service-deps.ts";
import { socketPair } from "../../../test/inside/socket-pair.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";
import type { Access } from "../../access/access-source.ts";
import type { StreamLife } from "../../service/service.ts";
import type { DbDeps, ServerCredentialsAsk } from "../database.ts";
import { serveDb } from "../serve-db.ts";

/** What the tests' streams ask for. */
export const request: StreamRequest<"db"> = {
  kind: "db",
  target: "orders",
  parameters: { user: "reader", name: "0", host: "", at: "" },
  clientAddress: "192.0.2.7:40000",
  sessionId: "s-1",
  accessRevision: "1",
};

export type TlsKeys = Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey">;

export interface StreamOptions {
  /** Of alice; default: `reader` and the logical database 0. */
  readonly role?: DatabaseRole;
  readonly access?: Partial<Access>;
  readonly record?: (facts: AuditFacts) => Promise<void>;
  readonly follow?: DbDeps["access"]["follow"];
  readonly asked?: StreamRequest<"db">;
  /** Default: a stream carries one session. */
  readonly within?: StreamLife["within"];
  readonly isUnhealthy?: () => boolean;
}

export interface ServedStream {
  /** The proxy's end. */
  readonly near: Socket;
  readonly served: Promise<void>;
  readonly events: AuditFacts[];
  /** Questions for the server's credentials. */
  readonly certified: ServerCredentialsAsk[];
  readonly logins: () => number;
}

/** An agent on db-1 with the database `orders`: a Redis server that answers `PING`, and demands a certificate. */
export interface DbStreams extends AsyncDisposable {
  readonly own: InsideAuthorities;
  /** Of another cluster. */
  readonly foreign: InsideAuthorities;
  readonly credentials: HostCredentials;
  readonly alice: TlsKeys;
  /** Connections that the server has. */
  readonly upstream: ReadonlySet<Socket>;
  serve(options?: StreamOptions): Promise<ServedStream>;
  /** Enters a stream as `tsh` does; default proof: the user's, or alice's. */
  enter(near: Socket, user: TlsKeys | undefined, asked?: StreamRequest<"db">, proof?: Buffer): Promise<TLSSocket>;
  /** What a user gets who reaches no server. */
  refusal(user: TlsKeys | undefined, options?: StreamOptions, asked?: StreamRequest<"db">, proof?: Buffer): Promise<Refusal>;
}

interface Refusal {
  readonly answer: object;
  readonly events: AuditFacts[];
}

export async function reply(stream: Duplex) {
  return decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: 10_000, what: "reply" }));
}

/** The next bytes. */
export async function text(tls: Duplex): Promise<string> {
  const [chunk] = (await once(tls, "data")) as [Buffer];
  return String(chunk);
}

export async function dbStreams(): Promise<DbStreams> {
  const made = [insideAuthorities(), insideAuthorities(), databaseAuthority("db"), databaseAuthority("db_client")] as const;
  const [own, foreign, db, clients] = await Promise.all(made);
  const [credentials, alice] = await Promise.all([own.host("db-1"), own.user("alice")]);
  const { certificate: cert, privateKey: key } = await db.issue("redis", { names: ["127.0.0.1"] });
  const upstream = new Set<Socket>();
  const server = createServer({ cert, key, ca: [clients.pem], requestCert: true, rejectUnauthorized: true }, (socket) => {
    upstream.add(socket.on("close", () => upstream.delete(socket)).on("error", () => {}));
    const name = String(socket.getPeerCertificate().subject.CN);
    socket.on("data", (chunk: Buffer) => void socket.write(String(chunk).includes("WHOAMI") ? `$${name.length}\r\n${name}\r\n` : "+PONG\r\n"));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;

  async function serve({ role, access, record, follow, asked = request, within, isUnhealthy }: StreamOptions = {}): Promise<ServedStream> {
    const [near, far] = await socketPair();
    let logins = 0;
    const node = { name: "db-1", labels: {} };
    const rules = { roles: [databaseRole({ names: ["0"], ...role })], ...access };
    const service = serviceDeps({ authorities: own, credentials, node, access: rules, record, follow });
    const certified: ServerCredentialsAsk[] = [];
    const deps: DbDeps = {
      ...service.deps,
      ...(isUnhealthy && { isUnhealthy }),
      findDatabase: (name) => (name === "orders" ? testDatabase("redis", port) : undefined),
      serverCredentials: async (ask) => {
        certified.push(ask);
        return { ...(await clients.issue(ask.account)), authorities: [db.pem] };
      },
    };
    const established = (): void => {
      logins += 1;
    };
    const served = serveDb(far, asked, deps, { signal: new AbortController().signal, established, ...(within && { within }) });
    served.catch(() => {});
    return { near, served, events: service.events, certified, logins: () => logins };
  }

  /** The proof that `tsh` sends for a user; without a certificate, that of somebody else. */
  function proofOf({ tlsCertificate: certificate, tlsPrivateKey: privateKey }: TlsKeys, asked: StreamRequest<"db">): Buffer {
    const session = { cluster: own.cluster, hostId: credentials.hostId, database: asked.target, account: asked.parameters.user };
    return proveSession(session, { certificate, privateKey }, { now: new Date(), nonce: randomBytes(16) });
  }

  const enter: DbStreams["enter"] = async (near, user, asked = request, proof = proofOf(user ?? alice, asked)) => {
    expect(await reply(near)).toEqual({ ok: true });
    const end = { cert: user?.tlsCertificate, key: user?.tlsPrivateKey };
    const tls = connectTls({ socket: near, ALPNProtocols: [alpn.service], servername: roleServerName("node"), ca: own.hostCaPem, ...end });
    tls.on("error", () => {});
    await once(tls, "secureConnect");
    tls.write(Buffer.concat([proof, encodeStreamRequest(asked)]));
    return tls;
  };

  const refusal: DbStreams["refusal"] = async (user, options, asked, proof) => {
    const { near, served, events, certified } = await serve(options);
    const tls = await enter(near, user, asked, proof);
    const answer = await reply(tls).catch((thrown: unknown) => ({ ok: false as const, error: thrown }));
    tls.destroy();
    await served;
    expect([upstream.size, certified]).toEqual([0, []]);
    return { answer, events };
  };

  return { own, foreign, credentials, alice, upstream, serve, enter, refusal, [Symbol.asyncDispose]: async () => void server.close() };
}
