import { beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { GuessLimit } from "./guess-limit.ts";

const attacker = "203.0.113.9:4711";
const ended = new PlatformError("unauthenticated", "this session has ended");

describe("guessed credentials", () => {
  let time: number;
  let limit: GuessLimit;
  let questions: string[];

  beforeEach(() => {
    time = 1_000;
    limit = new GuessLimit(
      () => time,
      async (ms) => {
        time += ms;
      },
    );
    questions = [];
  });

  /** The code of the refusal. */
  async function ask(digest: string, peer: string, failure = ended): Promise<string> {
    try {
      return await limit.ask({ digest, peer }, async () => {
        questions.push(digest);
        await Promise.resolve();
        throw failure;
      });
    } catch (thrown) {
      return thrown instanceof PlatformError ? thrown.code : String(thrown);
    }
  }

  test("10,000 of one address, one by one or at once, cost a hundred questions, and leave all others undisturbed", async () => {
    const known = async () => await limit.ask({ digest: "of a neighbour", peer: attacker }, async () => "right");
    expect(await known()).toBe("right");
    const codes: string[] = [];
    for (let number = 0; number < 5_000; number += 1) codes.push(await ask(`one ${number}`, attacker));
    codes.push(...(await Promise.all(Array.from({ length: 5_000 }, (_, number) => ask(`other ${number}`, attacker)))));
    expect(questions).toHaveLength(100);
    expect(codes.filter((code) => code === "limit")).toHaveLength(9_900);
    expect(await limit.ask({ digest: "new", peer: "203.0.113.10:1" }, async () => "right")).toBe("right");
    expect(await known()).toBe("right");
    time += 1_000;
    for (let number = 0; number < 100; number += 1) await ask(`later ${number}`, attacker);
    expect(questions).toHaveLength(105);
  });

  const right = async (digest: string, peer: string): Promise<string> => await limit.ask({ digest, peer }, async () => "right");

  test("those of many addresses are bounded together, to a pace at which they take turns", async () => {
    for (let site = 0; site < 300; site += 1) {
      for (let number = 0; number < 10; number += 1) await ask(`${site} ${number}`, `2001:db8:${site.toString(16)}::1`);
    }
    expect(questions).toHaveLength(3_000);
    expect(time).toBeCloseTo(1_000 + 40_000, -2);
    const lasts = Promise.all(
      Array.from({ length: 600 }, (_, number) => ask(`more ${number}`, `2001:db8:${(number % 3).toString(16)}:${number % 5}::1`)),
    );
    const before = time;
    expect(await right("new", "203.0.113.10:1")).toBe("right");
    expect(time - before).toBeLessThan(200);
    const codes = await lasts;
    expect(codes).toContain("limit");
  });

  test("those of all the networks of one site leave other sites undisturbed: nobody waits", async () => {
    for (let number = 0; number < 5_000; number += 1) await ask(`${number}`, `2001:db8:0:${(number % 16).toString(16)}::1`);
    expect(questions).toHaveLength(300);
    expect(await right("new", "2001:db8:1::1")).toBe("right");
    expect(time).toBe(1_000);
  });

  test("a session that was just opened does not count as a guess, nor does what is for it", async () => {
    for (let number = 0; number < 100; number += 1) await ask(`${number}`, attacker);
    expect(await ask("other", attacker)).toBe("limit");
    limit.opened("opened");
    expect(await right("opened", attacker)).toBe("right");
    const ofSession = { digest: "its hand-off", session: "opened", peer: attacker };
    expect(await limit.ask(ofSession, async () => "right")).toBe("right");
    await expect(limit.ask({ ...ofSession, digest: "refused" }, () => Promise.reject(ended))).rejects.toThrow(ended);
    await expect(limit.ask({ ...ofSession, digest: "another" }, async () => "right")).rejects.toMatchObject({ code: "limit" });
  });

  test("an ended session that goes on asking costs one question in half a minute, and is then no guess", async () => {
    const peer = "198.51.100.4:1";
    await limit.ask({ digest: "page", peer }, async () => "right");
    for (let number = 0; number < 1_000; number += 1) expect(await ask("page", peer)).toBe("unauthenticated");
    expect(questions).toHaveLength(1);
    time += 30_000;
    expect(await ask("page", peer)).toBe("unauthenticated");
    expect(questions).toHaveLength(2);
  });

  test("a right credential costs nothing, and neither does an outage of the auth service", async () => {
    const away = new PlatformError("unavailable", "no connection");
    for (let number = 0; number < 300; number += 1) expect(await ask(`${number}`, attacker, away)).toBe("unavailable");
    for (let number = 0; number < 300; number += 1) await limit.ask({ digest: `${number}`, peer: attacker }, async () => "right");
    expect(questions).toHaveLength(300);
    expect(await ask("guess", attacker)).toBe("unauthenticated");
  });
});
