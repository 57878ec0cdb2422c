import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { Channel } from "ssh2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { string, u8, u32 } from "../../core/bytes/fields.ts";
import { channelEnds, sendPayload, transportOf } from "../../core/ssh/ssh2/hooks.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { growthDuring, guessPasswords, type Hostile, hostileClient, streamTo, tcp } from "../world/hostile-client.ts";
import { until } from "../world/until.ts";

/** Clients that violate the protocol, or send endless requests: memory is bounded, others keep working, the offender is disconnected. */
describe("hostile SSH clients", () => {
  let cluster: Cluster;
  let agent: Agent;
  let alice: User;
  let mallory: User;
  beforeAll(async () => {
    cluster = await startCluster({ mode: "separate" });
    agent = await cluster.agent({ name: "web-1" });
    alice = await cluster.user("alice");
    mallory = await cluster.user("mallory");
  }, 120_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  /** What everybody wants: meanwhile, and afterwards. */
  async function aliceWorks(): Promise<void> {
    const done = await alice.tsh(["ssh", "root@web-1", "echo works"], { limitMs: 60_000 });
    expect(done.stdout, done.stderr).toBe("works\n");
  }
  const audited = (event: string, text: string): Promise<boolean> =>
    until(`audit event ${event} with: ${text}`, async () => {
      const lines = await cluster.admin("audit", "ls", "--format=json", `--event=${event}`, "--user=mallory");
      return lines.includes(text);
    });
  /** An attack on one process: its growth in MiB, while alice works. */
  async function attack(pid: number, work: () => Promise<void>): Promise<number> {
    const growth = await growthDuring(pid, async () => {
      await Promise.all([work(), aliceWorks()]);
    });
    await aliceWorks();
    return growth;
  }
  /** More than 16 MiB would wait here, for which our own client ends the connection. */
  async function room({ client }: Hostile): Promise<void> {
    const stream = transportOf(client);
    // Its own messages are read, too.
    await turn();
    if (stream.writableLength < 1024 * 1024 || stream.destroyed) return;
    const over = new AbortController();
    await Promise.race([once(stream, "drain", over), once(stream, "close", over)]).catch(() => {});
    over.abort();
  }

  test("a client that overruns a window is disconnected, and audited", { timeout: 120_000 }, async () => {
    using hostile = await hostileClient(cluster, mallory, "tunnel");
    const grew = await attack(agent.service.pid, async () => {
      const channel = await new Promise<Channel>((resolve, reject) =>
        hostile.client.exec("sleep 300", (error, opened) => (error === undefined ? resolve(opened) : reject(error))),
      );
      const data = Buffer.concat([u8(94), u32(channelEnds(channel).outgoing.id), string(Buffer.alloc(32_768))]);
      let isOpen = true;
      void hostile.closed.then(() => {
        isOpen = false;
      });
      for (let sent = 0; isOpen && sent < 64 * 1024; sent += 1) {
        sendPayload(hostile.client, data);
        if (sent % 32 === 31) await room(hostile);
      }
      await hostile.closed;
    });
    await audited("client.disconnect", "more than its window allows");
    expect(grew).toBeLessThan(100);
  });

  test.for(["tunnel", "jump"] as const)(
    "100,000 channels asked for through the %s: cut off, audited, little memory",
    { timeout: 240_000 },
    async (through) => {
      using hostile = await hostileClient(cluster, mallory, through);
      const { pid } = through === "tunnel" ? agent.service : cluster.control;
      const grew = await attack(pid, async () => {
        let isOpen = true;
        void hostile.closed.then(() => {
          isOpen = false;
        });
        for (let count = 0; isOpen && count < 100_000; count += 1) {
          sendPayload(hostile.client, Buffer.concat([u8(90), string("session"), u32(count), u32(2_097_152), u32(32_768)]));
          if (count % 200 === 199) await room(hostile);
        }
        await hostile.closed;
      });
      await audited(through === "tunnel" ? "client.disconnect" : "auth", "channels were refused");
      expect(grew).toBeLessThan(150);
    },
  );

  test("512 forwards whose far side does not read buffer little of their client's data", { timeout: 240_000 }, async () => {
    const sockets: Socket[] = [];
    const sink = createServer((socket) => void sockets.push(socket.pause().on("error", () => {})));
    await once(sink.listen(0, "127.0.0.1"), "listening");
    const { port } = sink.address() as AddressInfo;
    using hostile = await hostileClient(cluster, mallory, "tunnel");
    const grew = await attack(agent.service.pid, async () => {
      const fill = async (): Promise<void> => {
        const channel = await new Promise<Channel>((resolve, reject) =>
          hostile.client.forwardOut("127.0.0.1", 1, "127.0.0.1", port, (error, opened) => (error === undefined ? resolve(opened) : reject(error))),
        );
        channel.on("error", () => {});
        channel.write(Buffer.alloc(8 * 1024 * 1024));
      };
      for (let count = 0; count < 512; count += 16) await Promise.all(Array.from({ length: 16 }, fill));
      // What is on its way arrives.
      await sleep(5000);
    });
    for (const socket of sockets) socket.destroy();
    sink.close();
    expect(sockets.length).toBe(512);
    // 64 KiB of each, and 32 MiB besides.
    expect(grew).toBeLessThan(150);
  });

  /** After the version line: a packet whose length lies. */
  const lies: readonly (readonly [string, Buffer])[] = [
    ["the longest length there is", Buffer.from("ffffffff00", "hex")],
    ["a length of nothing", Buffer.from("000000000000000000000000", "hex")],
    ["more padding than packet", Buffer.concat([Buffer.from("0000000cff", "hex"), Buffer.alloc(64)])],
    ["a length that is never filled", Buffer.from("000088b804", "hex")],
  ];
  test.for(lies)("%s ends the connection, at the agent and at the jump host", { timeout: 120_000 }, async ([, packet]) => {
    const send = async (stream: Duplex): Promise<void> => {
      stream.resume();
      stream.write("SSH-2.0-liar\r\n");
      stream.write(packet);
      await new Promise<void>((resolve) => stream.once("close", () => resolve()));
    };
    const jump = await tcp(cluster.ports.ssh);
    jump.on("end", () => jump.end());
    const grew = await attack(agent.service.pid, async () => void (await Promise.all([send(streamTo(mallory, "root@web-1")), send(jump)])));
    expect(grew).toBeLessThan(100);
    await until("it is counted", () => /connections ended before authentication.*count/.test(cluster.control.printed()));
  });

  test("an endless line in place of a version is cut off at once", { timeout: 120_000 }, async () => {
    const flood = async (stream: Duplex, line: Buffer): Promise<void> => {
      let isOpen = true;
      stream.resume().once("close", () => {
        isOpen = false;
      });
      stream.on("end", () => stream.destroy());
      for (let count = 0; isOpen && count < 20_000; count += 1) {
        if (!stream.write(line)) await Promise.race([once(stream, "drain"), new Promise((resolve) => stream.once("close", resolve)), sleep(1000)]);
      }
      await until("it is cut off", () => !isOpen, 40_000);
    };
    for (const line of [Buffer.alloc(65_536, "x"), Buffer.from("hello\r\n".repeat(5000))]) {
      const toAgent = await attack(agent.service.pid, () => flood(streamTo(mallory, "root@web-1"), line));
      const toJump = await attack(cluster.control.pid, async () => flood(await tcp(cluster.ports.ssh), line));
      expect(Math.max(toAgent, toJump)).toBeLessThan(120);
    }
  });

  test("a client that guesses passwords is disconnected after six, over a thousand connections: bounded memory, others get in", {
    timeout: 300_000,
  }, async () => {
    const tries: number[] = [];
    const grew = await attack(cluster.control.pid, async () => {
      for (let count = 0; count < 1000; count += 50) {
        const some = Array.from({ length: 50 }, async () => guessPasswords(await tcp(cluster.ports.ssh, "127.0.0.2")));
        tries.push(...(await Promise.all(some)));
      }
    });
    expect(tries).toHaveLength(1000);
    // The seventh is not answered any more.
    expect(new Set(tries)).toEqual(new Set([7]));
    expect(grew).toBeLessThan(150);
    expect(await guessPasswords(streamTo(mallory, "root@web-1"))).toBe(7);
    await until("they are counted", () => /connections ended before authentication.*count/.test(cluster.control.printed()));
  });

  /** It reads, so that it notices when it is cut off, and says nothing. */
  const silent = async (port: number): Promise<Socket> => (await tcp(port, "127.0.0.2")).resume();
  test.for([
    ["the jump host's port", (one: Cluster) => one.ports.ssh],
    ["the web port", (one: Cluster) => one.ports.web],
  ] as const)("10,000 connections to %s that say nothing: bounded memory, others get in", { timeout: 300_000 }, async ([, portOf]) => {
    const sockets: Socket[] = [];
    const grew = await attack(cluster.control.pid, async () => {
      for (let count = 0; count < 10_000; count += 100) {
        sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => silent(portOf(cluster))))));
      }
    });
    expect(sockets.length).toBe(10_000);
    await until("the oldest are cut off", () => sockets.filter((socket) => !socket.destroyed).length <= 4096);
    for (const socket of sockets) socket.destroy();
    expect(grew).toBeLessThan(400);
    await until("they are counted", () => /connections ended before authentication.*count/.test(cluster.control.printed()));
    await aliceWorks();
  });

  test("10,400 connections to the auth service that stop after their first message: bounded memory, tctl and others get in", {
    timeout: 300_000,
  }, async () => {
    const hello = await firstMessage(["platform-auth", "h2"]);
    const sockets: Socket[] = [];
    let isOver = false;
    const statuses: number[] = [];
    const asking = async (): Promise<void> => {
      while (!isOver) statuses.push((await cluster.tctl(["status"], { limitMs: 60_000 })).status);
    };
    const grew = await attack(cluster.control.pid, async () => {
      const asked = asking();
      for (let count = 0; count < 10_400; count += 100) {
        const some = await Promise.all(Array.from({ length: 100 }, () => silent(cluster.ports.web)));
        for (const socket of some) socket.write(hello);
        sockets.push(...some);
      }
      isOver = true;
      await asked;
    });
    expect(sockets.length).toBe(10_400);
    expect(new Set(statuses)).toEqual(new Set([0]));
    for (const socket of sockets) socket.destroy();
    expect(grew).toBeLessThan(400);
    await aliceWorks();
  });
});

/** What a TLS client that offers these protocols sends first. */
async function firstMessage(protocols: string[]): Promise<Buffer> {
  const [near, far] = duplexPair();
  connectTls({ socket: near, ALPNProtocols: protocols, rejectUnauthorized: false }).on("error", () => {});
  const [message] = (await once(far, "data")) as [Buffer];
  near.destroy();
  return message;
}
