import { chmod, mkdtempDisposable, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makePrivateFolder } from "./make-private-folder.ts";

test("a folder is its owner's alone; one that is there keeps its mode; a failure names the path, and the option that it is from", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-folder-"));
  const [made, file] = [join(folder.path, "a", "b"), join(folder.path, "file")];
  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  await makePrivateFolder(made);
  expect([await modeOf(made), await modeOf(join(made, ".."))]).toEqual([0o700, 0o700]);
  await chmod(made, 0o755);
  await makePrivateFolder(made);
  expect(await modeOf(made)).toBe(0o755);
  await writeFile(file, "");
  const message = (option: string): RegExp => new RegExp(`^${option}could not create ${file}/x: ENOTDIR`);
  await expect(makePrivateFolder(join(file, "x"))).rejects.toMatchObject({ code: "invalid", message: expect.stringMatching(message("")) });
  await expect(makePrivateFolder(join(file, "x"), "--log-dir")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(message("--log-dir: ")),
  });
});
