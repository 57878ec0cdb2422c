import { once } from "node:events";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { type DatabaseAuthority, databaseAuthority, type IssuedForDatabase } from "../../test/inside/database-authority.ts";
import type { Database, DatabaseTls, ServerCredentials } from "./database.ts";
import { dialServer, serverRoad } from "./server-road.ts";

type Mode = DatabaseTls["mode"];
const signal = new AbortController().signal;

describe("TLS to a database's server", () => {
  let db: DatabaseAuthority;
  let clients: DatabaseAuthority;
  let foreign: DatabaseAuthority;
  let credentials: ServerCredentials;
  const servers: Server[] = [];
  beforeAll(async () => {
    [db, clients, foreign] = await Promise.all([databaseAuthority("db"), databaseAuthority("db_client"), databaseAuthority("db")]);
    credentials = { ...(await clients.issue("reader")), authorities: [db.pem] };
  });
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** A server that wants a certificate of the `db_client` authority, and answers with the CN that it has seen. */
  async function serve({ certificate, privateKey }: IssuedForDatabase, ecdhCurve = "auto"): Promise<number> {
    const options = {
      cert: certificate,
      key: privateKey,
      ca: [clients.pem],
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ["postgresql"],
      ecdhCurve,
    };
    const server = createServer(options, (socket: TLSSocket) => {
      socket.on("error", () => {});
      socket.end(`${String(socket.getPeerCertificate().subject.CN)} ${String(socket.alpnProtocol)} ${String(socket.servername)}`);
    });
    server.on("tlsClientError", () => {});
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as AddressInfo).port;
  }

  function database(port: number, tls: Partial<DatabaseTls> = {}, host = "127.0.0.1"): Database {
    return {
      name: "orders",
      protocol: "postgres",
      uri: `${host}:${port}`,
      addresses: [{ host, port }],
      options: new Map(),
      labels: {},
      origin: "static",
      tls: { mode: "verify-full", caPem: [], trustsSystem: false, ...tls },
    };
  }

  /** What the server has seen; throws the refusal. */
  async function connect(of: Database, own: ServerCredentials = credentials): Promise<string> {
    const road = serverRoad(of, { user: "reader", credentials: own, dial: async (address) => await dialServer(of, address, signal) }, signal);
    const secure = await road.secure(await road.dial(), { alpn: ["postgresql"] });
    let text = "";
    for await (const chunk of secure) text += String(chunk);
    return text;
  }

  const kinds = {
    "a right certificate": () => db.issue("db", { names: ["127.0.0.1"] }),
    "another name": () => db.issue("db", { names: ["db.internal", "192.0.2.1"] }),
    "another authority": () => foreign.issue("db", { names: ["127.0.0.1"] }),
    "another authority and another name": () => foreign.issue("db", { names: ["db.internal"] }),
    "an expired certificate": () => db.issue("db", { names: ["127.0.0.1"], validBefore: new Date(Date.now() - 1_000) }),
    "an expired certificate with another name": () => db.issue("db", { names: ["db.internal"], validBefore: new Date(Date.now() - 1_000) }),
    "a client's certificate": () => clients.issue("reader"),
    "a certificate that is not for servers": () => db.issue("127.0.0.1"),
  } satisfies Readonly<Record<string, () => Promise<IssuedForDatabase>>>;
  /** What the other modes refuse, `insecure` accepts. */
  test.for<readonly [name: keyof typeof kinds, accepting: readonly Mode[]]>([
    ["a right certificate", ["verify-full", "verify-ca", "insecure"]],
    ["another name", ["verify-ca", "insecure"]],
    ["another authority", ["insecure"]],
    ["another authority and another name", ["insecure"]],
    ["an expired certificate", ["insecure"]],
    ["an expired certificate with another name", ["insecure"]],
    ["a client's certificate", ["insecure"]],
    ["a certificate that is not for servers", ["insecure"]],
  ])("%s", async ([name, accepting]) => {
    const port = await serve(await kinds[name]());
    for (const mode of ["verify-full", "verify-ca", "insecure"] as const) {
      const outcome = connect(database(port, { mode }));
      if (accepting.includes(mode)) await expect(outcome, mode).resolves.toBe("reader postgresql false");
      else await expect(outcome, mode).rejects.toMatchObject({ code: "unavailable", hint: expect.stringContaining("tctl auth sign --format=db") });
    }
  });

  test("where a protocol has a way to leave, TLS is completed, and a server whose certificate is refused is left that way before the reason comes", async () => {
    const seen: string[] = [];
    const { certificate, privateKey } = await foreign.issue("db", { names: ["127.0.0.1"] });
    const server = createServer({ cert: certificate, key: privateKey }, (socket) => {
      socket
        .on("error", () => {})
        .on("data", (chunk: Buffer) => {
          seen.push(chunk.toString());
          socket.end("bye");
        });
    });
    server.on("tlsClientError", () => seen.push("broken"));
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const of = database((server.address() as AddressInfo).port);
    const road = serverRoad(of, { user: "reader", credentials, dial: async (address) => await dialServer(of, address, signal) }, signal);
    const leave = async (secure: TLSSocket): Promise<void> => {
      secure.write("leaving");
      seen.push(String((await once(secure, "data"))[0]));
    };
    await expect(road.secure(await road.dial(), { leave })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("not trusted"),
    });
    expect(seen).toEqual(["leaving", "bye"]);
  });

  test("server_name: the name that the certificate must have, also sent to the server", async () => {
    const port = await serve(await db.issue("db", { names: ["db.internal"] }));
    expect(await connect(database(port, { serverName: "db.internal" }))).toBe("reader postgresql db.internal");
    await expect(connect(database(port, { serverName: "other.internal" }))).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("the server of database orders was issued for another name"),
    });
  });

  test("an authority of the configuration is trusted beside the cluster's, in both modes that verify", async () => {
    const port = await serve(await foreign.issue("db", { names: ["127.0.0.1"] }));
    for (const mode of ["verify-full", "verify-ca"] as const)
      expect(await connect(database(port, { mode, caPem: [foreign.pem] }))).toContain("reader");
  });

  test.each([
    ["P-256", "prime256v1", "first"],
    ["X25519", "X25519", "first"],
    ["X25519MLKEM768", "X25519MLKEM768", "second"],
  ] as const)("a server of %s gets its share of the key (%s) with the %s hello", async (curve, name, hello) => {
    const of = database(await serve(await db.issue("db", { names: ["127.0.0.1"] }), curve));
    const road = serverRoad(of, { user: "reader", credentials, dial: async (address) => await dialServer(of, address, signal) }, signal);
    const socket = await road.dial();
    const secure = await road.secure(socket);
    expect(secure.getEphemeralKeyInfo()).toMatchObject({ name });
    // A hello has 400 bytes and more, the certificate and its signature 650.
    expect(socket.bytesWritten).toSatisfy((bytes: number) => bytes < 1_500 === (hello === "first"));
    secure.destroy();
  });

  test("each member of a replica set is verified under its own name, whatever the order", async () => {
    const [one, two] = await Promise.all([
      serve(await db.issue("one", { names: ["localhost"] })),
      serve(await db.issue("two", { names: ["127.0.0.1"] })),
    ]);
    const of = {
      ...database(one, {}, "localhost"),
      addresses: [
        { host: "localhost", port: one },
        { host: "127.0.0.1", port: two },
      ],
    } as const;
    const road = serverRoad(of, { user: "reader", credentials, dial: async (address) => await dialServer(of, address, signal) }, signal);
    const [first, second] = [await road.dial(of.addresses[0]), await road.dial(of.addresses[1])];
    for (const socket of [first, second]) (await road.secure(socket)).destroy();
    // The certificate of one server is not good for the other one.
    const astray = await road.dial({ host: "127.0.0.1", port: one });
    await expect(road.secure(astray)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("a server that refuses the certificate gives nothing; one that does not speak TLS, or is not there, is unavailable, with the reason", async () => {
    const port = await serve(await db.issue("db", { names: ["127.0.0.1"] }));
    const other = { ...(await foreign.issue("reader")), authorities: [db.pem] };
    // In TLS 1.3 the server's refusal comes after the handshake: the engine finds the connection closed.
    expect(await connect(database(port), other).catch(() => "")).toBe("");
    const plain = createTcpServer(
      (socket) =>
        void socket
          .on("error", () => {})
          .resume()
          .end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    );
    await once(plain.listen(0, "127.0.0.1"), "listening");
    const { port: deaf } = plain.address() as AddressInfo;
    await expect(connect(database(deaf))).rejects.toMatchObject({ code: "unavailable" });
    plain.close();
    await once(plain, "close");
    await expect(connect(database(deaf))).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(`database orders .*127\\.0\\.0\\.1:${deaf}`),
    });
  });

  test.for(["169.254.169.254", "fe80::1", "::ffff:169.254.169.254"])(
    "%s is dialled for the admin, and not for a server that names it",
    async (host) => {
      const address = { host, port: 80 };
      await expect(dialServer(database(1), address, signal)).rejects.toMatchObject({ cause: { code: "denied" } });
      const over = AbortSignal.abort(new Error("over"));
      await expect(dialServer(database(80, {}, host), address, over)).rejects.not.toMatchObject({ cause: { code: "denied" } });
    },
  );

  test("a session that has ended does not wait for a server that never answers", async () => {
    const mute = createTcpServer((socket) => void socket.on("error", () => {}).resume());
    await once(mute.listen(0, "127.0.0.1"), "listening");
    const of = database((mute.address() as AddressInfo).port);
    const over = new AbortController();
    const road = serverRoad(of, { user: "reader", credentials, dial: async (address) => await dialServer(of, address, over.signal) }, over.signal);
    const handshake = road.secure(await road.dial());
    over.abort(new Error("over"));
    await expect(handshake).rejects.toMatchObject({ code: "unavailable" });
    mute.close();
  });
});
