import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { buffer, text } from "node:stream/consumers";
import type { ClientChannel, Connection, ServerChannel } from "ssh2";
import { expect, test } from "vitest";
import { until } from "../../test/world/until.ts";
import { generateSshKey } from "./keys.ts";
import { type RelayedPackets, relayPackets } from "./relay-packets.ts";
import type { SshConnection } from "./ssh-client.ts";
import { rawConnection } from "./ssh2.ts";
import { type Fixture, meet } from "./testing/session-fixture.ts";

const authority = generateSshKey();
const silent = { intervalMs: 0, missed: 0 };
const openly: RelayedPackets = { fromClient: () => false, fromHost: () => false };

interface Parties {
  readonly client: SshConnection;
  /** The two in the middle. */
  readonly near: Connection;
  readonly far: SshConnection;
  readonly host: Connection;
  readonly done: Promise<void>;
}

/** A client and a host that speak through a relay in the middle. */
async function relayed(watch = openly, rekey: Partial<Record<"client" | "near" | "far" | "host", Fixture["client"]>> = {}): Promise<Parties> {
  const front = meet({ authority, ...(rekey.client && { client: rekey.client }), server: { keepalive: silent, ...rekey.near } });
  const back = meet({ authority, client: { keepalive: silent, ...rekey.far }, ...(rekey.host && { server: rekey.host }) });
  const [far, { connection: host }] = await Promise.all([back.client, back.server]);
  const [client, { connection: near }] = await Promise.all([front.client, front.server]);
  return { client, near, far, host, done: relayPackets(near, far, watch) };
}

function onExec(host: Connection, run: (channel: ServerChannel, command: string) => void): void {
  host.on("session", (accept) => {
    accept().on("exec", (acceptExec, _reject, { command }) => run(acceptExec(), String(command)));
  });
}

function exec(client: SshConnection, command: string): Promise<ClientChannel> {
  return new Promise((resolve, reject) => client.exec(command, (error, channel) => (error === undefined ? resolve(channel) : reject(error))));
}

test("commands, both streams, half-close and exit status pass, and a refusal too", async () => {
  const { client, host, done } = await relayed();
  onExec(host, (channel, command) => {
    channel.stderr.write("warning");
    void text(channel).then((asked) => {
      channel.write(`${command}: ${asked}`);
      channel.exit(7);
      channel.end();
    });
  });
  const channel = await exec(client, "echo");
  const [exit, errors] = [once(channel, "exit"), text(channel.stderr)];
  channel.end("question");
  expect(await text(channel)).toBe("echo: question");
  expect([(await exit)[0], await errors]).toEqual([7, "warning"]);
  host.on("tcpip", (_accept, reject) => reject());
  const refused = new Promise((resolve) => client.forwardOut("127.0.0.1", 1, "db", 5432, (error) => resolve(error?.message)));
  expect(await refused).toMatch(/Connection refused|Channel open failure/);
  client.end();
  await done;
});

test("global requests and channels that the host opens pass", async () => {
  const { client, host, done } = await relayed();
  host.on("request", (accept, _reject, name, info) => {
    accept?.(name === "tcpip-forward" && info.bindPort === 0 ? 4321 : undefined);
  });
  client.on("tcp connection", (_details, accept) => {
    const channel = accept();
    channel.pipe(channel);
  });
  const port = await new Promise<number>((resolve, reject) =>
    client.forwardIn("localhost", 0, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  expect(port).toBe(4321);
  const channel = await new Promise<ServerChannel>((resolve, reject) =>
    host.forwardOut("localhost", 4321, "peer", 1, (error, opened) => (error === undefined ? resolve(opened) : reject(error))),
  );
  channel.end("echo");
  expect(await text(channel)).toBe("echo");
  host.end();
  await done;
});

test.for(["nobody", "client", "near", "far", "host"] as const)(
  "megabytes go both ways on several channels while the %s renews its keys",
  async (who) => {
    const { client, host, done } = await relayed(openly, { [who]: { rekey: { bytes: 1_000_000, ms: 3_600_000 } } });
    onExec(host, (channel) => channel.pipe(channel));
    const block = randomBytes(1_500_000);
    const digests = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const channel = await exec(client, "cat");
        channel.end(block);
        return createHash("sha256")
          .update(await buffer(channel))
          .digest("hex");
      }),
    );
    expect(new Set(digests)).toEqual(new Set([createHash("sha256").update(block).digest("hex")]));
    client.end();
    await done;
  },
);

test("a side that does not read holds the other back, and other channels continue", async () => {
  const { client, host, done } = await relayed();
  let sent = 0;
  onExec(host, (channel, command) => {
    if (command === "echo") return void channel.pipe(channel);
    const more = (): void => {
      while (channel.write(Buffer.alloc(65_536))) sent += 65_536;
      channel.once("drain", more);
    };
    more();
  });
  const stuck = await exec(client, "flood");
  await once(stuck, "readable");
  for (let round = 0; round < 20; round++) {
    const channel = await exec(client, "echo");
    channel.end("still here");
    expect(await text(channel)).toBe("still here");
  }
  expect(sent).toBeLessThan(16 * 1024 * 1024);
  client.end();
  await done;
});

test("a client whose network is stuck holds the host back: the relay buffers little, and all data arrives later", async () => {
  const { client, near, far, host, done } = await relayed();
  const block = Buffer.alloc(4_000_000, 7);
  onExec(host, (channel) => {
    channel.once("data", () => {
      channel.write(block);
      channel.exit(0);
      channel.end();
    });
  });
  const stream = rawConnection(client)._sock;
  const channels = await Promise.all(Array.from({ length: 4 }, () => exec(client, "flood")));
  stream.pause();
  for (const channel of channels) channel.write("go");
  const middle = rawConnection(near)._sock;
  await until("no more is read from the host", () => rawConnection(far)._sock.isPaused() && middle.writableNeedDrain);
  for (let turn = 0; turn < 1_000; turn++) await new Promise(setImmediate);
  expect(middle.writableLength).toBeLessThan(1_000_000);
  stream.resume();
  for (const { length } of await Promise.all(channels.map((channel) => buffer(channel)))) expect(length).toBe(block.length);
  client.end();
  await done;
});

test.for(["client", "host"] as const)("the end of the %s's connection is that of both", async (who) => {
  const parties = await relayed();
  onExec(parties.host, () => {});
  const channel = await exec(parties.client, "sleep");
  const ended = once(channel.resume(), "close");
  parties[who].end();
  await Promise.all([ended, parties.done]);
});

test("each message is seen, and a dropped one does not arrive", async () => {
  const seen = { client: [] as number[], host: [] as number[] };
  const environment = 98;
  const { client, host, done } = await relayed({
    fromClient: (payload) => {
      seen.client.push(payload[0] ?? 0);
      return payload[0] === environment && payload.includes("env");
    },
    fromHost: (payload) => {
      seen.host.push(payload[0] ?? 0);
      return false;
    },
  });
  const variables: string[] = [];
  host.on("session", (accept) => {
    const session = accept();
    session.on("env", (_accept, _reject, { key }) => variables.push(key));
    session.on("exec", (acceptExec) => {
      const channel = acceptExec();
      channel.exit(0);
      channel.end();
    });
  });
  const channel = await new Promise<ClientChannel>((resolve, reject) =>
    client.exec("true", { env: { SECRET: "1" } }, (error, opened) => (error === undefined ? resolve(opened) : reject(error))),
  );
  await once(channel.resume(), "close");
  expect(variables).toEqual([]);
  // Open, request; confirmation, success.
  expect(seen.client).toEqual(expect.arrayContaining([90, 98]));
  expect(seen.host).toEqual(expect.arrayContaining([91, 99, 98, 97]));
  client.end();
  await done;
});

test("a message and those after it wait for the observer, and an observer that fails ends both", async () => {
  const looked: string[] = [];
  let release = Promise.withResolvers<boolean>();
  const { client, near, far, host, done } = await relayed({
    fromClient: (payload) => {
      if (payload[0] !== 98) return false;
      looked.push(payload.includes("first") ? "first" : "other");
      return payload.includes("first") || payload.includes("last") ? release.promise : false;
    },
    fromHost: () => false,
  });
  const commands: string[] = [];
  onExec(host, (channel, command) => {
    commands.push(command);
    channel.exit(0);
    channel.end();
  });
  const [first, second] = [exec(client, "first"), exec(client, "second")];
  await until("the first is inspected", () => looked.includes("first"));
  expect(commands).toEqual([]);
  release.resolve(false);
  for (const channel of await Promise.all([first, second])) channel.resume();
  expect(commands).toEqual(["first", "second"]);
  release = Promise.withResolvers();
  const last = exec(client, "last");
  last.catch(() => {});
  await until("the last is inspected", () => looked.length === 3);
  release.reject(new Error("no"));
  await expect(last).rejects.toThrow();
  // Two ends in memory do not learn of each other's close.
  for (const one of [near, far]) rawConnection(one)._sock.destroy();
  await done;
});
