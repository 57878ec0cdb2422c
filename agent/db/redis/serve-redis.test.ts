import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as after } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "../../../test/inside/engine-session.ts";
import { statementLog } from "../../../test/inside/statement-log.ts";
import type { ServerAccess } from "../engine.ts";
import { CommandFilter } from "./command-filter.ts";
import { encodeCommand } from "./resp.ts";
import { serveRedis } from "./serve-redis.ts";

/** A server with one account and the commands that these tests need. `certified`: it knows the certificate. */
class TestServer {
  readonly #listener: Server;
  readonly seen: string[] = [];
  readonly #sockets = new Set<Socket>();
  certified: string | undefined = "alice";
  renamed: string | undefined;

  constructor() {
    this.#listener = createServer((socket) => {
      this.#sockets.add(socket.on("error", () => {}));
      let user = this.certified;
      const judge = {
        decide: () => "pass" as const,
        passed: ({ words }: { readonly words: readonly { readonly bytes: Buffer }[] }) => {
          const line = words.map(({ bytes }) => String(bytes));
          this.seen.push(line.join(" "));
          const [answer, name = user] = this.#answer(line, user);
          user = name;
          socket.write(answer);
        },
      };
      const filter = new CommandFilter(judge);
      socket.on("data", (chunk: Buffer) => void filter.push(chunk));
    });
  }

  async listen(): Promise<number> {
    await once(this.#listener.listen(0, "127.0.0.1"), "listening");
    return (this.#listener.address() as AddressInfo).port;
  }

  write(text: string): void {
    for (const socket of this.#sockets) socket.write(text);
  }

  end(): void {
    for (const socket of this.#sockets) socket.end();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#listener.close();
  }

  #answer([name = "", ...rest]: readonly string[], user: string | undefined): readonly [string, (string | undefined)?] {
    const word = name.toUpperCase();
    if (word === "AUTH") return rest.at(-1) === "sesame" ? ["+OK\r\n", this.renamed ?? rest[0]] : ["-WRONGPASS invalid sesam\r\n"];
    if (word === "HELLO" && rest.includes("AUTH")) return ["%1\r\n+proto\r\n:3\r\n", rest[2]];
    if (user === undefined) return ["-NOAUTH Authentication required.\r\n"];
    if (word === "ACL") return [`$${user.length}\r\n${user}\r\n`];
    if (word === "GET") return [rest[0] === "elsewhere" ? "-MOVED 3999 10.0.0.1:6379\r\n" : `$${rest[0]?.length}\r\n${rest[0]}\r\n`];
    if (word === "SELECT") return [rest[0] === "99" ? "-ERR DB index is out of range\r\n" : "+OK\r\n"];
    if (word === "BLPOP") return [""];
    if (word === "BROKEN") return ["HTTP/1.1 200\r\n"];
    return [word === "HELLO" ? "+OK\r\n" : `-ERR unknown command '${name}', with args beginning with: \r\n`];
  }
}

describe("a session with a server", () => {
  let server: TestServer;
  let port: number;
  let inside: InsideEngineSession;
  let ended: Promise<PlatformError | undefined>;

  beforeEach(async () => {
    server = new TestServer();
    port = await server.listen();
  });
  afterEach(async () => {
    inside.near.destroy();
    server.close();
    await ended;
  });

  const open = async (options: Partial<EngineSessionOptions> = {}, change: Partial<InsideEngineSession["session"]> = {}): Promise<void> => {
    inside = await engineSession({ protocol: "redis", port, asked: { user: "alice" }, ...options });
    inside.near.setEncoding("latin1");
    ended = serveRedis({ ...inside.session, ...change });
  };
  /** All that comes until `end`, or the end of the connection. */
  const until = async (end: string): Promise<string> => {
    let text = "";
    for (;;) {
      const chunk = inside.near.read() as string | null;
      if (chunk !== null) text += chunk;
      if (text.endsWith(end) && end !== "") return text;
      if (inside.near.readableEnded || inside.near.destroyed) return `${text}<end>`;
      await after(2);
    }
  };
  const say = (...words: readonly string[]): boolean => inside.near.write(encodeCommand(words));
  const queries = (): readonly string[] =>
    inside.events.map((event) =>
      event.event === "db.session.query"
        ? [event.db_query, ...(event.db_query_parameters ?? []), event.success ? "" : "!"].join(" ").trim()
        : event.event,
    );

  test("the certificate logs in, and no password reaches the server", async () => {
    await open();
    say("HELLO", "3", "AUTH", "alice", "sesame");
    say("AUTH", "alice", "sesame");
    say("GET", "k");
    expect(await until("k\r\n")).toBe("+OK\r\n+OK\r\n$1\r\nk\r\n");
    expect(server.seen).toEqual(["ACL WHOAMI", "HELLO 3", expect.stringMatching(/^answered-[0-9a-f]{32}-1$/), "GET k"]);
    expect(queries()).toEqual(["HELLO 3 AUTH alice ***", "AUTH alice ***", "GET k"]);
    expect(inside.logins).toMatchObject([{ names: { user: "alice", name: undefined } }]);
  });

  test("a refused command is answered in its place, and never reaches the server", async () => {
    await open();
    for (const name of ["GET", "RESET", "GET", "PSYNC"]) say(name, "k");
    say("GET", "last");
    const text = await until("last\r\n");
    expect(text).toMatch(/^\$1\r\nk\r\n-NOPERM RESET is refused.*\r\n\$1\r\nk\r\n-NOPERM PSYNC is refused.*\r\n\$4\r\nlast\r\n$/);
    expect(server.seen.join()).not.toMatch(/RESET|PSYNC/);
    expect(queries()).toEqual(["GET k", "RESET !", "GET k", "PSYNC !", "GET last"]);
  });

  test("the recording has each command with its result, and no password", async () => {
    const { log, statements } = statementLog();
    await open({ statements: log });
    say("HELLO", "3", "AUTH", "alice", "sesame");
    say("AUTH", "alice", "sesame");
    for (const name of ["GET", "NONSENSE", "RESET"]) say(name, "k");
    say("GET", "elsewhere");
    say("GET", "last");
    await until("last\r\n");
    const shown = statements.map(({ text, parameters = [], result }) => [text, ...parameters, result?.outcome, result?.code].join(" ").trim());
    expect(shown).toEqual([
      "HELLO 3 AUTH alice *** ok",
      "AUTH alice *** ok",
      "GET k ok",
      "NONSENSE k failed ERR",
      "RESET refused",
      "GET elsewhere failed MOVED",
      "GET last ok",
    ]);
    expect(JSON.stringify(statements)).not.toMatch(/sesame|answered-/);
  });

  describe("that wants a password", () => {
    beforeEach(() => {
      server.certified = undefined;
    });

    test("nothing but the login of the account reaches it first", async () => {
      await open();
      say("GET", "k");
      say("AUTH", "bob", "sesame");
      say("AUTH", "alice", "wrong");
      inside.near.write("AUTH alice sesame\r\n");
      say("GET", "k");
      expect(await until("k\r\n")).toMatch(/^-NOAUTH [^-]*-NOPERM AUTH is refused[^-]*-WRONGPASS [^-]*\+OK\r\n\$1\r\nk\r\n$/);
      expect(server.seen).toEqual(["ACL WHOAMI", "AUTH alice wrong", "AUTH alice sesame", "ACL WHOAMI", "GET k"]);
      expect(queries()).toEqual(["AUTH *** *** !", "AUTH alice *** !", "AUTH alice ***", "GET k"]);
      expect(JSON.stringify(inside.events)).not.toMatch(/sesam|wrong/);
    });

    test("without an account that was asked for, the one of HELLO counts", async () => {
      await open({ asked: {} });
      say("PING");
      say("HELLO", "3", "AUTH", "alice", "sesame");
      say("GET", "k");
      expect(await until("k\r\n")).toBe("-NOAUTH Authentication required.\r\n%1\r\n+proto\r\n:3\r\n$1\r\nk\r\n");
      expect(inside.logins).toMatchObject([{ names: { user: "alice" } }]);
    });

    test("a client that leaves has not failed", async () => {
      await open();
      say("QUIT");
      expect(await until("")).toBe("+OK\r\n<end>");
      expect(await ended).toBeUndefined();
    });

    test("more than 10 arguments end it, and are reported without what they hold", async () => {
      await open();
      inside.near.write("*11\r\n$4\r\nAUTH\r\n$5\r\nalice\r\n");
      expect(await until("")).toMatch(/^-ERR Protocol error: invalid unauthenticated multibulk length.*\r\n<end>$/);
      expect(inside.events).toEqual([{ event: "db.session.malformed_packet", payload: Buffer.from("*11").toString("base64") }]);
    });

    test("a server that logs in somebody else is not used", async () => {
      await open();
      server.renamed = "bob";
      say("AUTH", "alice", "sesame");
      expect(await until("")).toMatch(/^-NOPERM the server did not log the session in as "alice"\r\n<end>$/);
    });

    test("being someone else there is not being logged in", async () => {
      server.certified = "default";
      await open();
      say("GET", "k");
      say("HELLO", "3", "SETNAME", "auth", "SETNAME", "x");
      say("AUTH", "alice", "sesame");
      say("GET", "k");
      expect(await until("k\r\n")).toMatch(/^(-NOAUTH Authentication required.\r\n){2}\+OK\r\n\$1\r\nk\r\n$/);
      expect(server.seen).toEqual(["ACL WHOAMI", "AUTH alice sesame", "ACL WHOAMI", "GET k"]);
    });
  });

  test("a refusal answers the first commands, and then the connection closes", async () => {
    const judge = (): never => {
      throw new PlatformError("denied", "access to cache denied\r\n+OK", { hint: "ask for it" });
    };
    await open({ judge });
    await after(50);
    expect(inside.near.readableLength).toBe(0);
    say("HELLO", "3");
    say("CLIENT", "SETINFO", "LIB-NAME", "x");
    // A client that sends several in one go looks at the first answer when it has all.
    expect(await until("")).toBe(`${"-NOPERM access to cache denied +OK (ask for it)\r\n".repeat(2)}<end>`);
    inside.near.end();
    expect(await ended).toMatchObject({ code: "denied" });
    expect(server.seen).toEqual([]);
  });

  test("a server that cannot be reached is reported", async () => {
    const dial = async (): Promise<Socket> => await Promise.reject(new PlatformError("unavailable", "could not reach database orders"));
    const login = async (): Promise<ServerAccess> =>
      await Promise.resolve({ user: "alice", dial, secure: async () => await Promise.reject(new Error("not called")) });
    await open({}, { login });
    say("PING");
    expect(await until("")).toBe("-ERR could not reach database orders\r\n<end>");
  });

  test("mode=cluster is refused in words", async () => {
    const { session } = await engineSession({ protocol: "redis", port });
    await open({}, { database: { ...session.database, options: new Map([["mode", "cluster"]]) } });
    session.client.destroy();
    say("PING");
    expect(await until("")).toMatch(/^-ERR mode=cluster is not supported: .*\r\n<end>$/);
    expect(server.seen).toEqual([]);
  });

  test("where a server points to another member, the client gets words", async () => {
    await open();
    say("GET", "elsewhere");
    expect(await until("\r\n")).toMatch(/^-ERR the key is on another member of the cluster, 10\.0\.0\.1:6379: /);
  });

  test("the database that was asked for is selected, and others are refused", async () => {
    await open({ asked: { user: "alice", name: "3" }, mayUse: (name) => name === "5" });
    for (const name of ["3", "5", "4"]) say("SELECT", name);
    expect(await until("db_names\r\n")).toBe('+OK\r\n+OK\r\n-NOPERM access to database "4" denied: no role allows it in db_names\r\n');
    expect(server.seen.slice(0, 4)).toEqual(["ACL WHOAMI", "SELECT 3", "SELECT 3", "SELECT 5"]);
  });

  test("a database that is not there is reported, and database 0 is not entered without a right to it", async () => {
    await open({ asked: { user: "alice", name: "99" } });
    say("PING");
    expect(await until("")).toBe('-ERR could not select database "99": ERR DB index is out of range\r\n<end>');
    await open({ mayUse: (name) => name === "5" });
    say("PING");
    expect(await until("")).toMatch(/^-NOPERM access to database 0 denied/);
  });

  describe("that is cut", () => {
    const locked = new PlatformError("denied", "alice is locked");

    test("the client that awaits a reply gets the reason", async () => {
      await open();
      say("GET", "k");
      say("BLPOP", "list", "0");
      await until("k\r\n");
      inside.end(locked);
      expect(await until("")).toBe("-NOPERM alice is locked\r\n<end>");
      expect(await ended).toBe(locked);
    });

    test("a client that awaits nothing gets nothing", async () => {
      await open();
      say("GET", "k");
      await until("k\r\n");
      inside.end(locked);
      expect(await until("")).toBe("<end>");
      expect(await ended).toBe(locked);
    });

    test("in the middle of a reply its rest comes first, and nothing of the next one", async () => {
      await open();
      say("BLPOP", "list", "0");
      say("BLPOP", "list", "0");
      await expect.poll(() => server.seen.length).toBe(3);
      server.write("*2\r\n$4\r\nlist\r\n$3\r\nab");
      await until("ab");
      inside.end(locked);
      server.write("c\r\n*2\r\n$4\r\nlist");
      expect(await until("")).toBe("c\r\n-NOPERM alice is locked\r\n<end>");
    });

    test("before the login the next command gets the reason", async () => {
      server.certified = undefined;
      await open();
      await expect.poll(() => server.seen.length).toBe(1);
      inside.end(locked);
      say("AUTH", "alice", "sesame");
      expect(await until("")).toBe("-NOPERM alice is locked\r\n<end>");
    });
  });

  test("a server that closes instead of its reply is reported", async () => {
    await open();
    say("BLPOP", "list", "0");
    await expect.poll(() => server.seen.length).toBe(2);
    server.end();
    expect(await until("")).toBe("-ERR the server of database orders closed the connection\r\n<end>");
    inside.near.end();
    expect(await ended).toMatchObject({ code: "unavailable" });
  });

  test("what breaks the protocol ends it: the client's is reported with its first word, the server's is not the client's", async () => {
    await open();
    inside.near.write('AUTH "sesame\r\n');
    expect(await until("")).toBe("-ERR Protocol error: unbalanced quotes in request\r\n<end>");
    await ended;
    expect(inside.events).toEqual([{ event: "db.session.malformed_packet", payload: Buffer.from("AUTH").toString("base64") }]);
    await open();
    say("BROKEN");
    expect(await until("")).toMatch(/^-ERR Protocol error: a reply of type 72\r\n<end>$/);
    expect(queries()).toEqual(["BROKEN"]);
  });

  test("while the audit has no room, nothing more is read; when it cannot be kept, the session ends", async () => {
    const room = Promise.withResolvers<void>();
    await open({ record: () => room.promise });
    say("GET", "one");
    expect(await until("one\r\n")).toBe("$3\r\none\r\n");
    say("BLPOP", "list", "0");
    await after(50);
    expect(server.seen).toHaveLength(2);
    room.reject(new PlatformError("limit", "the disk is full"));
    await until("");
    expect(await ended).toMatchObject({ code: "limit" });
  });
});
