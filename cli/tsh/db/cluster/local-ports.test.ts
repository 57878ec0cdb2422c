import { Duplex, PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { markSecretBytes, memberMark } from "../../../../core/databases/redis/member-marks.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { LocalPort } from "../../served/local-port.ts";
import { withLocalPorts } from "./local-ports.ts";
import { MemberPorts } from "./member-ports.ts";

const secret = Buffer.from("0123456789abcdef");

/** Both ends of a session: what the agent writes and reads. */
function session() {
  const [down, up] = [new PassThrough(), new PassThrough()];
  const stream = Duplex.from({ readable: down, writable: up });
  return { stream, down, up };
}

test("a client reads local ports in place of marks, in their order, and its own bytes pass", async () => {
  const { stream, down, up } = session();
  const asked: string[] = [];
  const portOf = async (member: string): Promise<number> => {
    asked.push(member);
    await new Promise((resolve) => setImmediate(resolve));
    return 40_000 + asked.length;
  };
  const local = withLocalPorts(stream, { portOf });
  down.write(secret.subarray(0, markSecretBytes - 1));
  down.write(secret.subarray(markSecretBytes - 1));
  down.write(Buffer.concat([Buffer.from("-MOVED 1 127.0.0.1:"), memberMark(secret, "h:1"), Buffer.from("\r\n")]));
  down.write(Buffer.concat([Buffer.from("+a "), memberMark(secret, "h:2"), memberMark(secret, "h:3")]));
  down.end("\r\n+end");
  local.end("PING\r\n");
  expect(Buffer.concat((await local.toArray()) as Buffer[]).toString()).toBe("-MOVED 1 127.0.0.1:40001\r\n+a 4000240003\r\n+end");
  expect(asked).toEqual(["h:1", "h:2", "h:3"]);
  expect(String(up.read())).toBe("PING\r\n");
});

test("the end of the stream stays behind the last port, however long that takes to open", async () => {
  const { stream, down } = session();
  const opening = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const local = withLocalPorts(stream, { portOf: async (member) => (await opening[Number(member)]?.promise) ?? 0 });
  const all = local.toArray();
  down.write(Buffer.concat([secret, memberMark(secret, "0")]));
  await turn();
  // Both are there when reading goes on.
  down.end(memberMark(secret, "1"));
  await turn();
  opening[0]?.resolve(40_001);
  for (let turns = 0; turns < 10; turns += 1) await turn();
  opening[1]?.resolve(40_002);
  expect(Buffer.concat((await all) as Buffer[]).toString()).toBe("4000140002");
});

test("a port that cannot be opened ends the session with the reason", async () => {
  const { stream, down } = session();
  const local = withLocalPorts(stream, { portOf: async () => await Promise.reject(new PlatformError("unavailable", "no port")) });
  down.write(Buffer.concat([secret, memberMark(secret, "h:1")]));
  await expect(local.toArray()).rejects.toMatchObject({ message: "no port" });
  expect(stream.destroyed).toBe(true);
});

test("an agent that breaks the marks ends the session", async () => {
  const { stream, down } = session();
  const local = withLocalPorts(stream, { portOf: async () => 40_000 });
  down.write(Buffer.concat([secret, secret, Buffer.from([0xff, 0xff])]));
  await expect(local.toArray()).rejects.toMatchObject({ code: "invalid" });
});

test("a slow client holds the agent up", () => {
  const { stream, down } = session();
  withLocalPorts(stream, { portOf: async () => 40_000 });
  down.write(secret);
  let written = 0;
  while (written < 1_000_000 && down.write(Buffer.alloc(16_384))) written += 16_384;
  expect(written).toBeLessThan(1_000_000);
});

/** Ports that are only numbers. */
function numbers(first: number) {
  const closed: number[] = [];
  let next = first;
  const open = async (): Promise<LocalPort> => {
    const port = next;
    next += 1;
    return {
      port,
      address: `127.0.0.1:${port}`,
      closed: Promise.resolve(),
      [Symbol.asyncDispose]: async () => void closed.push(port),
    };
  };
  return { open, closed };
}

test("a member keeps its port; of too many members the one goes that was named longest ago", async () => {
  const { open, closed } = numbers(40_000);
  const ports = new MemberPorts(open, 2);
  expect([await ports.portOf("a:1"), await ports.portOf("b:1"), await ports.portOf("a:1")]).toEqual([40_000, 40_001, 40_000]);
  expect(await ports.portOf("c:1")).toBe(40_002);
  expect(closed).toEqual([40_001]);
  ports.close();
  await expect.poll(() => closed.toSorted()).toEqual([40_000, 40_001, 40_002]);
  await expect(ports.portOf("a:1")).rejects.toMatchObject({ code: "unavailable" });
});

test("a port has five digits, as its mark stands for", async () => {
  const { open, closed } = numbers(9_998);
  expect(await new MemberPorts(open).portOf("a:1")).toBe(10_000);
  expect(closed).toEqual([9_998, 9_999]);
  await expect(new MemberPorts(numbers(1_000).open).portOf("a:1")).rejects.toMatchObject({ code: "unavailable" });
});

test("a port that could not be opened is tried again", async () => {
  const { open } = numbers(40_000);
  let isBroken = true;
  const ports = new MemberPorts(async (member) => {
    if (!isBroken) return await open();
    throw new PlatformError("unavailable", member);
  });
  await expect(ports.portOf("a:1")).rejects.toMatchObject({ code: "unavailable" });
  isBroken = false;
  expect(await ports.portOf("a:1")).toBe(40_000);
});
