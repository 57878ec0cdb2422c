import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { examineUpdater, lastFields } from "./updater-check.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "updater-check-"));
});
afterAll(async () => await rm(dir, { recursive: true, force: true }));

test("the last line of fields is read, quoted or not", () => {
  const text = 'no upgrades available\nreason=old\nreason=certificate_wrong updater=1.0.0 detail="the \\"certificate\\" has expired"\n';
  expect([...lastFields(text)]).toEqual([
    ["reason", "certificate_wrong"],
    ["updater", "1.0.0"],
    ["detail", 'the "certificate" has expired'],
  ]);
  expect(lastFields("").size).toBe(0);
});

test.runIf(process.getuid?.() === 0)("the updater says how it gets on, with its unit's environment", async () => {
  const program = join(dir, "platform-upgrade");
  const answers = async (script: string) => {
    await writeFile(program, `#!/bin/sh\n[ "$1" = dry-run ] || exit 9\n${script}\n`);
    await chmod(program, 0o755);
    return await examineUpdater({ HTTPS_PROXY: "http://p:1", PATH: "/usr/bin:/bin" }, program);
  };
  expect(await answers('echo "reason=up_to_date detail=\\"through $HTTPS_PROXY\\""')).toEqual({
    says: "the updater gets its answer: through http://p:1",
  });
  await expect(answers('echo "reason=certificate_wrong detail=\\"it has expired\\""; exit 1')).rejects.toMatchObject({
    code: "unavailable",
    message: "the updater cannot proceed: it has expired",
    hint: expect.stringContaining("for certificate_wrong"),
  });
  expect(await examineUpdater({}, join(dir, "none"))).toBeUndefined();
});
