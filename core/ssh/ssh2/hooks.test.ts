import { once } from "node:events";
import type { Connection } from "ssh2";
import { expect, test } from "vitest";
import { generateSshKey } from "../keys.ts";
import { meet, openChannel } from "../testing/session-fixture.ts";
import { channelEnds, refuseOpen, rekey, subscribe } from "./hooks.ts";

const authority = generateSshKey();

/** A client and a server, whose two subscribers log what they are called for: "first" has subscribed before "second". */
async function observed(log: string[], drops: readonly string[] = []) {
  const both = meet({ authority });
  const [client, { connection: server }] = await Promise.all([both.client, both.server]);
  for (const name of ["first", "second"]) {
    const say = (hook: string) => (): void => void log.push(`${name} ${hook}`);
    const drop = (): boolean => {
      say("drops")();
      return drops.includes(name);
    };
    subscribe(server, {
      arrived: { CHANNEL_OPEN: say("arrived") },
      drops: { CHANNEL_OPEN: drop },
      sending: { channelData: say("sending") },
      refused: say("refused"),
      rekeying: say("rekeying"),
      window: () => ({ bytes: name === "first" ? 70_000 : 80_000, adjust: () => {}, end: say("window ends") }),
    });
  }
  return { client, server };
}

function reject(server: Connection): void {
  server.on("tcpip", (_accept, refuse) => refuseOpen(server, refuse, { reason: 2, text: "nobody is there" }));
}

test("a message that arrives passes the latest subscriber first, then ssh2; the window is the latest subscriber's", async () => {
  const log: string[] = [];
  const { client, server } = await observed(log);
  const far = new Promise<{ write(data: string): unknown }>((resolve) => {
    server.on("session", (accept) => {
      log.push("ssh2");
      accept().on("exec", (acceptExec) => resolve(acceptExec()));
    });
  });
  const near = await new Promise<Parameters<typeof channelEnds>[0]>((resolve, fail) =>
    client.exec("x", (error, channel) => (error === undefined ? resolve(channel) : fail(error))),
  );
  expect(log).toEqual(["second arrived", "first arrived", "second drops", "first drops", "ssh2"]);
  expect(channelEnds(near).outgoing.window).toBe(80_000);
  log.length = 0;
  (await far).write("out");
  expect(String((await once(near, "data"))[0])).toBe("out");
  expect(log).toEqual(["second sending", "first sending"]);
  client.end();
});

test("a message that a subscriber drops is hidden from the earlier ones and from ssh2, not from those that observe", async () => {
  const log: string[] = [];
  const { client, server } = await observed(log, ["second"]);
  server.on("session", () => log.push("ssh2"));
  client.exec("x", () => {});
  while (log.length < 3) await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect(log).toEqual(["second arrived", "first arrived", "second drops"]);
  client.end();
});

test("a refusal is sent with its reason and text before the subscribers are called, the earliest first", async () => {
  const log: string[] = [];
  const { client, server } = await observed(log);
  reject(server);
  const refused = new Promise<Error | undefined>((resolve) => client.forwardOut("a", 1, "b", 2, (error) => resolve(error)));
  expect(await refused).toMatchObject({ message: "(SSH) Channel open failure: nobody is there", reason: 2 });
  expect(log.slice(-2)).toEqual(["first refused", "second refused"]);
  client.end();
});

test("a key exchange of ours is reported once it has begun, the earliest first", async () => {
  const log: string[] = [];
  const { client, server } = await observed(log);
  const over = once(server, "handshake");
  rekey(server);
  expect(log).toEqual(["first rekeying", "second rekeying"]);
  await over;
  client.end();
});

test("the window of a channel that we open ends when the peer refuses it, and when it is closed", async () => {
  const log: string[] = [];
  const { client, server } = await observed(log);
  const open = (): Promise<Error | undefined> => new Promise((resolve) => void server.forwardOut("a", 1, "b", 2, (error) => resolve(error)));
  // No listener: the client refuses it.
  expect(await open()).toBeInstanceOf(Error);
  expect(log).toEqual(["second window ends"]);
  client.end();
});

test("a connection that was not hooked is refused", async () => {
  const { client } = await openChannel({ authority });
  const bare = Object.assign(Object.create(Object.getPrototypeOf(client)), { _protocol: {} }) as typeof client;
  expect(() => subscribe(bare, {})).toThrow("hookConnection comes before");
  client.end();
});
