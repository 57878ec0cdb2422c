import { once } from "node:events";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import type { ClientChannel, PseudoTtyOptions, ServerChannel } from "ssh2";
import { expect, test } from "vitest";
import { string, u8, u32 } from "../bytes/fields.ts";
import { generateSshKey } from "./keys.ts";
import { relayPackets } from "./relay-packets.ts";
import { meet } from "./testing/session-fixture.ts";
import { type WatchedPackets, type WatchedTerminal, watchTerminals } from "./watch-terminals.ts";

interface Seen extends WatchedTerminal {
  shown: string;
  readonly sizes: string[];
  ended: number;
}

/** Observed terminals, in order of their start. */
function watching() {
  const seen: Seen[] = [];
  const packets = watchTerminals(async (terminal) => {
    const one: Seen = { ...terminal, shown: "", sizes: [], ended: 0 };
    seen.push(one);
    return {
      show: (data) => {
        one.shown += data.toString();
        return undefined;
      },
      resize: (columns, rows) => one.sizes.push(`${columns}x${rows}`),
      end: () => {
        one.ended += 1;
      },
    };
  });
  return { seen, packets };
}

/** Each message after the previous one, as in the relay. */
async function pass(packets: WatchedPackets, messages: readonly (readonly [side: string, payload: Buffer])[]): Promise<boolean[]> {
  const verdicts: boolean[] = [];
  for (const [side, payload] of messages) verdicts.push(await (side === "client" ? packets.fromClient(payload) : packets.fromHost(payload)));
  return verdicts;
}

async function relayed(run: (channel: ServerChannel) => void) {
  const authority = generateSshKey();
  const { seen, packets } = watching();
  const silent = { keepalive: { intervalMs: 0, missed: 0 } };
  const [front, back] = [meet({ authority, server: silent }), meet({ authority, client: silent })];
  const [far, { connection: host }] = await Promise.all([back.client, back.server]);
  const [client, { connection: near }] = await Promise.all([front.client, front.server]);
  host.on("session", (accept) => {
    const session = accept();
    session.on("pty", (acceptPty) => acceptPty?.());
    session.on("window-change", (acceptChange) => acceptChange?.());
    session.on("shell", (acceptShell) => run(acceptShell()));
    session.on("exec", (acceptExec) => run(acceptExec()));
  });
  const done = relayPackets(near, far, packets).then(() => packets.end());
  const exec = (command: string, pty?: PseudoTtyOptions) =>
    new Promise<ClientChannel>((resolve, reject) =>
      client.exec(command, pty === undefined ? {} : { pty }, (error, channel) => (error === undefined ? resolve(channel) : reject(error))),
    );
  return { client, exec, seen, done };
}
const terminal: PseudoTtyOptions = { rows: 24, cols: 80, term: "xterm" };

test("a terminal's output and sizes are seen, its input is not", async () => {
  const { client, exec, seen, done } = await relayed((channel) => {
    channel.write("password: ");
    channel.once("data", () => {
      channel.stderr.write("and an error");
      channel.end("\r\nwelcome");
    });
  });
  const channel = await exec("login", terminal);
  const shown = text(channel);
  channel.setWindow(50, 132, 0, 0);
  channel.write("hunter2\n");
  await shown;
  const plain = await exec("plain");
  plain.end("x");
  await text(plain);
  client.end();
  await done;
  const [first] = seen;
  expect(seen).toHaveLength(1);
  expect(first).toMatchObject({ kind: "xterm", columns: 80, rows: 24, sizes: ["132x50"], ended: 1 });
  expect([first?.shown.includes("welcome"), first?.shown.includes("and an error"), first?.shown.includes("hunter2")]).toEqual([true, true, false]);
});

test("concurrent sessions are kept apart; running ones end with the connection", async () => {
  const { client, exec, seen, done } = await relayed((channel) => {
    channel.once("data", (data: Buffer) => channel.write(data));
  });
  const channels = await Promise.all(["a", "b", "c"].map((name) => exec(name, terminal)));
  for (const [index, channel] of channels.entries()) channel.write(`word-${index}`);
  await Promise.all(channels.map((channel) => once(channel, "data")));
  client.end();
  await done;
  expect(seen.map(({ shown, ended }) => [shown, ended])).toEqual([
    ["word-0", 1],
    ["word-1", 1],
    ["word-2", 1],
  ]);
});

const ask = (client: number, type = "session"): Buffer => Buffer.concat([u8(90), string(type), u32(client), u32(1_000_000), u32(32_768)]);
const open = (client: number, host: number): Buffer => Buffer.concat([u8(91), u32(client), u32(host), u32(1_000_000), u32(32_768)]);
const request = (host: number, name: string, ...rest: Buffer[]): Buffer => Buffer.concat([u8(98), u32(host), string(name), u8(1), ...rest]);
const pty = (host: number): Buffer => request(host, "pty-req", string("vt100"), u32(80), u32(24), u32(0), u32(0), string(""));
const data = (client: number, shown: string): Buffer => Buffer.concat([u8(94), u32(client), string(shown)]);

const begin = (client: number, host: number) =>
  [
    ["client", ask(client)],
    ["host", open(client, host)],
    ["client", pty(host)],
    ["client", request(host, "shell")],
  ] as const;

test("a client that gives two sessions one number hides neither", async () => {
  const { seen, packets } = watching();
  await pass(packets, [...begin(7, 1), ...begin(7, 2), ["host", data(7, "secret")]]);
  packets.end();
  expect(seen.map(({ place, shown, ended }) => [place, shown, ended])).toEqual([
    [0, "secret", 1],
    [1, "secret", 1],
  ]);
});

test("only sessions count, in the order in which the host accepts them", async () => {
  const { seen, packets } = watching();
  await pass(packets, [
    ...[ask(1), ask(2, "direct-tcpip"), ask(3), ask(4)].map((payload) => ["client", payload] as const),
    ...[open(3, 30), open(2, 20), Buffer.concat([u8(92), u32(1), u32(1), string("no"), string("")]), open(4, 40)].map(
      (payload) => ["host", payload] as const,
    ),
    ...[20, 40, 30].flatMap((host) => [pty(host), request(host, "shell")].map((payload) => ["client", payload] as const)),
  ]);
  expect(seen.map(({ place }) => place)).toEqual([1, 0]);
});

test("each terminal ends with a message, under the client's number", async () => {
  const { packets } = watching();
  await pass(packets, [...begin(7, 1), ["client", ask(8)], ["host", open(8, 2)], ...begin(9, 3).slice(0, 3)]);
  const ending = (client: number): Buffer[] => [
    Buffer.concat([u8(95), u32(client), u32(1), string("bye")]),
    Buffer.concat([u8(98), u32(client), string("exit-status"), u8(0), u32(255)]),
    Buffer.concat([u8(97), u32(client)]),
  ];
  // The second waits for its program.
  expect(packets.endings("bye")).toEqual([...ending(7), Buffer.concat([u8(99), u32(9)]), ...ending(9)]);
});

test("the host's keys are not announced: a client would ask for proof that the host cannot give", () => {
  const { packets } = watching();
  const global = (name: string): Buffer => Buffer.concat([u8(80), string(name), u8(0)]);
  expect(packets.fromHost(global("hostkeys-00@openssh.com"))).toBe(true);
  expect(packets.fromHost(global("keepalive@openssh.com"))).toBe(false);
});

test("an excessive number of sessions is refused", () => {
  const { packets } = watching();
  for (let number = 0; number < 4096; number++) {
    void packets.fromClient(ask(number));
    void packets.fromHost(open(number, number));
  }
  void packets.fromClient(ask(9999));
  expect(() => packets.fromHost(open(9999, 9999))).toThrow("too many sessions");
  const { packets: others } = watching();
  for (let number = 0; number < 4096; number++) void others.fromClient(ask(number, "direct-tcpip"));
  expect(() => others.fromClient(ask(9999))).toThrow("too many channels at a time");
});

test("for any messages: only announcements of keys are dropped, none breaks it, and each terminal ends once", () => {
  const number = fc.integer({ min: 0, max: 3 });
  const word = fc.constantFrom("shell", "exec", "window-change", "pty-req", "env");
  const whole = fc.oneof(
    fc.tuple(number, number).map(([client, host]) => ["host", open(client, host)] as const),
    number.map((client) => ["client", ask(client)] as const),
    number.map((host) => ["client", pty(host)] as const),
    fc.tuple(number, word, fc.uint8Array({ maxLength: 20 })).map(([host, name, rest]) => ["client", request(host, name, Buffer.from(rest))] as const),
    fc.tuple(number, fc.string()).map(([client, shown]) => ["host", data(client, shown)] as const),
    number.map((host) => ["client", Buffer.concat([u8(97), u32(host)])] as const),
    fc
      .tuple(fc.constantFrom("client", "host"), fc.uint8Array({ minLength: 1, maxLength: 60 }))
      .map(([side, bytes]) => [side, Buffer.from(bytes)] as const),
  );
  const cut = fc.tuple(whole, fc.nat(100)).map(([[side, payload], length]) => [side, payload.subarray(0, Math.max(1, length))] as const);
  return fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(whole, cut), { maxLength: 60 }), async (messages) => {
      const { seen, packets } = watching();
      const before = messages.map(([, payload]) => Buffer.from(payload));
      const dropped = await pass(packets, messages);
      expect(messages.every(([, payload], index) => payload.equals(before[index] ?? Buffer.alloc(0)))).toBe(true);
      expect(dropped.some((isDropped, index) => isDropped && messages[index]?.[1][0] !== 80)).toBe(false);
      packets.end();
      expect(seen.every(({ ended }) => ended === 1)).toBe(true);
    }),
  );
});
