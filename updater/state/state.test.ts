import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readState, writeState } from "./state.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-updater-state-"));
});
afterAll(async () => await rm(folder, { recursive: true }));

test("a written state is read back, from a new folder, and everybody may read it", async () => {
  const place = join(folder, "a/b");
  expect(await readState(place)).toEqual({ state: { skip: [] }, damaged: false });
  await writeState(place, { reason: "up_to_date", skip: [] });
  await writeState(place, { reason: "upgraded", current: "1.1.0", skip: [] });
  expect(await readState(place)).toEqual({ state: { reason: "upgraded", current: "1.1.0", skip: [] }, damaged: false });
  expect((await stat(join(place, "state"))).mode & 0o777).toBe(0o644);
  expect(await readdir(place)).toEqual(["state"]);
  expect(JSON.parse(await readFile(join(place, "state"), "utf8"))).toMatchObject({ version: 1 });
});

test.for(["", '{"version":1,"rea', "x".repeat(70_000), `{"detail":"${"x".repeat(70_000)}"}`])(
  "a torn or foreign file counts as damaged (%#)",
  async (text) => {
    const place = await mkdtemp(join(folder, "torn-"));
    await writeFile(join(place, "state"), text);
    expect(await readState(place)).toEqual({ state: { skip: [] }, damaged: true });
  },
);

test("the leftover of a run that was killed while writing is overwritten", async () => {
  const place = await mkdtemp(join(folder, "left-"));
  await writeFile(join(place, ".state.new"), "half");
  await writeState(place, { skip: [] });
  expect(await readdir(place)).toEqual(["state"]);
});

test("a state that cannot be read or written is an error", async () => {
  await expect(readState("/dev/null")).resolves.toMatchObject({ damaged: false });
  await expect(writeState("/dev/null/x", { skip: [] })).rejects.toMatchObject({ reason: "internal" });
  const place = await mkdtemp(join(folder, "dir-"));
  await writeState(join(place, "state"), { skip: [] });
  await expect(readState(place)).rejects.toMatchObject({ reason: "internal" });
  await expect(writeState(place, { skip: [] })).rejects.toMatchObject({ reason: "internal" });
});
