import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { CommandFilter } from "../command-filter.ts";

/** A Redis server with one account and the commands that these tests need. */
export class TestServer implements Disposable {
  readonly #listener: Server;
  /** Commands that reached it, a line each. */
  readonly seen: string[] = [];
  readonly #sockets = new Set<Socket>();
  /** Account that it knows the certificate of; undefined: it wants a password. */
  certified: string | undefined = "alice";
  /** Account that a password logs in; undefined: the one that was stated. */
  renamed: string | undefined;
  /** Lines of CLUSTER NODES; undefined: it is not a member of a cluster. */
  nodes: string | undefined;

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

  [Symbol.dispose](): void {
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
    if (word === "CLUSTER")
      return [this.nodes === undefined ? "-ERR This instance has cluster support disabled\r\n" : `$${this.nodes.length}\r\n${this.nodes}\r\n`];
    if (word === "BLPOP") return [""];
    if (word === "BROKEN") return ["HTTP/1.1 200\r\n"];
    return [word === "HELLO" ? "+OK\r\n" : `-ERR unknown command '${name}', with args beginning with: \r\n`];
  }
}
