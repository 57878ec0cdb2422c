import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readSync } from "node:fs";
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { encodeSchedule, parseSchedule } from "../../core/versions/upgrade-schedule.ts";

const root = userInfo().uid === 0;
const nobody = 65_534;
const module = resolve(import.meta.dirname, "../../agent/upgrade-window/schedule-file.ts");
const daily = (from: number): string =>
  encodeSchedule(Array.from({ length: 15 }, (_, day) => ({ start: from + day * 86_400, stop: from + day * 86_400 + 3_600 })));
const texts = [daily(1_800_000_000), daily(1_899_999_999), encodeSchedule([{ start: 1_850_000_000, stop: 1_850_003_600 }])] as const;

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-owner-"));
  file = join(folder, "schedule");
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true }));

function readAtOnce(): string {
  const fd = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(65_536);
    return buffer.toString("utf8", 0, readSync(fd, buffer, 0, buffer.length, 0));
  } finally {
    closeSync(fd);
  }
}

/** Writes the texts in turn as a user without rights in the folder; its exit status and what it printed. */
async function writeAsNobody(rounds: number): Promise<{ status: number | null; said: string }> {
  const script = `
    import { writeScheduleFile } from ${JSON.stringify(module)};
    process.setgroups([]); process.setgid(${nobody}); process.setuid(${nobody});
    const texts = ${JSON.stringify(texts)};
    try {
      for (let round = 0; round < ${rounds}; round += 1) await writeScheduleFile(${JSON.stringify(file)}, texts[round % texts.length]);
    } catch (error) { console.log(error.code + ": " + error.message); process.exit(3); }
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--no-warnings", "-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [status] = (await once(child, "close")) as [number | null];
  return { status, said };
}

describe.runIf(root)("an agent that is not root and owns the schedule file, not its folder", () => {
  test("writes it in place: owner, mode and inode stay, and a reader never sees a window that was not written", { timeout: 60_000 }, async () => {
    await writeFile(file, texts[2]);
    await chown(file, nobody, 0);
    await chmod(file, 0o646);
    const { ino } = await stat(file);
    const beginnings = texts.map((text) => parseSchedule(text));
    const known = new Set(beginnings.flat().map(({ start, stop }) => `${start} ${stop}`));
    const writing = writeAsNobody(600);
    const seen = { empty: 0, whole: 0, part: 0 };
    let over = false;
    void writing.then(() => {
      over = true;
    });
    while (!over) {
      const text = readAtOnce();
      const windows = parseSchedule(text);
      const isBeginning = beginnings.some((whole) => isDeepStrictEqual(whole.slice(0, windows.length), windows));
      expect(isBeginning, JSON.stringify(text)).toBe(true);
      // A reader in several steps may continue in a later text, and then sees windows of both; never any other.
      for (const { start, stop } of parseSchedule(await readFile(file, "utf8"))) expect(known).toContain(`${start} ${stop}`);
      if (text === "") seen.empty += 1;
      else if (texts.some((one) => one === text)) seen.whole += 1;
      else seen.part += 1;
    }
    expect(await writing).toEqual({ status: 0, said: "" });
    expect(seen.whole).toBeGreaterThan(0);
    expect(await stat(file)).toMatchObject({ ino, uid: nobody, gid: 0 });
    expect((await stat(file)).mode & 0o777, "the world may not write it").toBe(0o644);
    expect(await readFile(file, "utf8")).toBe(texts[2]);
    expect(await readdir(folder)).toEqual(["schedule"]);
  });

  test("explains what to do when there is no writable file", async () => {
    expect(await writeAsNobody(1)).toEqual({ status: 3, said: expect.stringMatching(/^denied: this user may not create .*schedule/) });
    await writeFile(file, "");
    expect(await writeAsNobody(1)).toEqual({ status: 3, said: expect.stringMatching(/^denied: .*could not write .*schedule: EACCES/) });
  });
});

test.runIf(root)("as root the file gets a new inode in one step, and stays with its owner", async () => {
  const { writeScheduleFile } = await import("../../agent/upgrade-window/schedule-file.ts");
  await writeFile(file, texts[0]);
  await chown(file, nobody, nobody);
  await chmod(file, 0o640);
  const { ino } = await stat(file);
  await writeScheduleFile(file, texts[1]);
  const after = await stat(file);
  expect(after).toMatchObject({ uid: nobody, gid: nobody });
  expect([after.mode & 0o777, after.ino === ino]).toEqual([0o640, false]);
  await writeScheduleFile(file, "");
  expect((await stat(file)).size).toBe(0);
});
