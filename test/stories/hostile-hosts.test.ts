import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { userInfo } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { growthDuring } from "../world/hostile-client.ts";
import { program } from "../world/program.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

/** Says this as long as somebody takes it. */
function forever(socket: Socket, text: Buffer): void {
  const say = (): void => {
    while (socket.writable && socket.write(text));
  };
  socket.on("drain", say);
  say();
}

const identification = "SSH-2.0-evil\r\n";

interface Host {
  readonly says: (socket: Socket) => void;
  readonly error: string;
}
/** What stands where a host's SSH service should be, and what `tsh ssh` says of it. */
const hosts: Readonly<Record<string, Host>> = {
  "an endless line in place of a version": {
    says: (socket) => forever(socket, Buffer.alloc(65_536, "x")),
    error: "SSH connection failed: Header line too long",
  },
  "endless lines before the version": {
    says: (socket) => forever(socket, Buffer.from("hello\r\n".repeat(5000))),
    error: "SSH connection failed: Max greeting lines exceeded",
  },
  silence: { says: () => {}, error: "no SSH login within 20 s" },
  "a version, then a packet of the longest length": {
    says: (socket) => forever(socket, Buffer.concat([Buffer.from(identification), Buffer.from("ffffffff00", "hex"), Buffer.alloc(65_536)])),
    error: "SSH connection failed: Bad packet length",
  },
  "a version, then nonsense": {
    says: (socket) => forever(socket, Buffer.concat([Buffer.from(identification), Buffer.alloc(65_536, 0xa5)])),
    error: "SSH connection failed: Bad packet length",
  },
  "a version, then the end": { says: (socket) => void socket.end(identification), error: "the SSH server closed the connection" },
};

/** The other end may be anybody: tsh says what is wrong, soon, and holds little of what it is sent. */
describe("hosts that are hostile to tsh", () => {
  let cluster: Cluster;
  let user: User;
  let server: Server;
  let now: Host["says"] = () => {};
  const login = userInfo().username;
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on("error", () => {}).resume();
      now(socket);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    cluster = await startCluster();
    const addr = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const node = {
      kind: "node",
      sub_kind: "openssh",
      version: "v2",
      metadata: { name: randomUUID(), labels: {} },
      spec: { hostname: "evil-1", addr },
    };
    const made = await cluster.tctl(["create", "-f", "-"], { input: JSON.stringify(node) });
    expect(made.status, made.stderr).toBe(0);
    user = await cluster.user("alice", { logins: login });
  });
  afterAll(async () => {
    server?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  test.for(Object.entries(hosts))("%s", async ([, { says, error }]) => {
    now = says;
    await using tsh = startService(program("tsh"), ["ssh", `${login}@evil-1`, "true"], { env: { TSH_HOME: user.home } });
    const grew = await growthDuring(tsh.pid, () => until("tsh gives up", () => tsh.exited, 40_000));
    expect(tsh.printed()).toBe(`ERROR: evil-1: ${error}\n`);
    // Starting takes most of it.
    expect(grew).toBeLessThan(180);
  });
});
