import { expect, test } from "vitest";
import { type KnownGreeting, KnownGreetings } from "./known-greetings.ts";

const greeting = (version: string): KnownGreeting => ({ version, capabilities: { flags: 1, extended: 0 }, charset: 8, status: 2 });

test("a greeting is fetched once, until it is an hour old", async () => {
  const clock = { now: 0 };
  const known = new KnownGreetings(() => clock.now);
  let fetches = 0;
  const fetch = async (): Promise<KnownGreeting> => greeting(`8.0.${fetches++}`);
  const both = await Promise.all([known.get("a", fetch), known.get("a", fetch)]);
  expect(both.map((one) => one?.version)).toEqual(["8.0.0", "8.0.0"]);
  clock.now = 3_599_999;
  expect((await known.get("a", fetch))?.version).toBe("8.0.0");
  clock.now = 3_600_000;
  expect((await known.get("a", fetch))?.version).toBe("8.0.1");
  known.put("a", greeting("9.7.4"));
  expect((await known.get("a", fetch))?.version).toBe("9.7.4");
});

test("a server that does not greet is asked again after a minute, and its old greeting stays", async () => {
  const clock = { now: 0 };
  const known = new KnownGreetings(() => clock.now);
  let fetches = 0;
  const fail = async (): Promise<KnownGreeting> => {
    fetches += 1;
    throw new Error("refused");
  };
  expect([await known.get("a", fail), await known.get("a", fail), fetches]).toEqual([undefined, undefined, 1]);
  clock.now = 60_000;
  expect([await known.get("a", fail), fetches]).toEqual([undefined, 2]);
  known.put("a", greeting("9"));
  clock.now = 4_000_000;
  expect((await known.get("a", fail))?.version).toBe("9");
});

test("only the latest servers are remembered", async () => {
  const known = new KnownGreetings(() => 0);
  for (let index = 0; index < 1_100; index += 1) known.put(String(index), greeting("8"));
  expect(await known.get("1099", async () => greeting("again"))).toEqual(greeting("8"));
  expect(await known.get("0", async () => greeting("again"))).toEqual(greeting("again"));
});
