import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { type AccessAnswer, openAccessSource } from "./access-source.ts";

const role = (name: string, extra: object = {}): string => JSON.stringify({ kind: "role", version: "v7", metadata: { name }, spec: {}, ...extra });
const answer = (revision: string, rolesJson: string[] = [role("access")], locksJson: string[] = []): AccessAnswer => ({
  revision,
  rolesJson,
  locksJson,
  userCaSsh: ["u"],
  hostCaSsh: ["h"],
  userCaPem: ["up"],
  hostCaPem: ["hp"],
  sessionRecording: "node",
});

function source(answers: readonly (AccessAnswer | Error)[]) {
  let count = 0;
  const fetch = async (): Promise<AccessAnswer> => {
    const next = answers[Math.min(count, answers.length - 1)];
    count += 1;
    if (next === undefined || next instanceof Error) throw next ?? new Error("no answer");
    return next;
  };
  return { access: openAccessSource({ fetch, log: silentLog }), fetched: () => count };
}

test("one revision is fetched once, no matter which caller asks or how many ask at once", async () => {
  const { access, fetched } = source([answer("1")]);
  const all = await Promise.all([access.at("1"), access.at("1"), access.at("")]);
  expect(all.map(({ revision }) => revision)).toEqual(["1", "1", "1"]);
  await access.at("1");
  expect(fetched()).toBe(1);
});

test("another revision is fetched before any decision is made", async () => {
  const { access, fetched } = source([answer("1"), answer("2")]);
  await access.at("1");
  expect((await access.at("2")).revision).toBe("2");
  expect(fetched()).toBe(2);
});

test("an announced revision makes the next question fetch", async () => {
  const { access } = source([answer("1"), answer("2")]);
  await access.at("");
  access.announce("2");
  expect((await access.at("")).revision).toBe("2");
});

test("a fetch that fails denies, even when an older answer is held", async () => {
  const { access } = source([answer("1"), new PlatformError("unavailable", "no tunnel")]);
  await access.at("1");
  await expect(access.at("2")).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("access denied") });
});

test("a role that cannot be read is known by its name", async () => {
  const { access } = source([answer("1", [role("access"), role("newer", { spec: { allow: { moon_phase: "full" } } })])]);
  expect(await access.at("1")).toMatchObject({ roles: [{ metadata: { name: "access" } }], unreadable: ["newer"] });
});

test("an answer that is not a role denies", async () => {
  const { access } = source([answer("1", ["{}"])]);
  await expect(access.at("1")).rejects.toMatchObject({ code: "unavailable" });
});

test("a follower receives the newest answer at once, then each different one, until the signal", async () => {
  const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "alice" } } };
  const { access } = source([answer("1"), answer("2", [], [JSON.stringify(lock)]), answer("3")]);
  await access.at("");
  const heard: string[] = [];
  const end = new AbortController();
  access.follow(({ revision, locks }) => void heard.push(`${revision}: ${locks.length}`), end.signal);
  await access.at("1");
  await access.at("2");
  end.abort();
  await access.at("3");
  expect(heard).toEqual(["1: 0", "2: 1"]);
});

test("a lock that cannot be read denies", async () => {
  const { access } = source([answer("1", [], ["{}"])]);
  await expect(access.at("1")).rejects.toMatchObject({ code: "unavailable" });
});
