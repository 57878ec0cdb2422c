import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const script = `
import { fstatSync } from "node:fs";
const { closeInherited } = await import(process.argv[1]);
closeInherited([62]);
const isOpen = (fd) => { try { return fstatSync(fd) !== undefined; } catch { return false; } };
console.log(JSON.stringify([60, 61, 62].map(isOpen)));
`;

test("inherited pipes and terminals are closed; a regular file, which a thread of the runtime may be reading, is not", () => {
  const file = openSync(import.meta.filename, "r");
  const args = ["--input-type=module", "-e", script, resolve(import.meta.dirname, "become-user.ts")];
  // The runtime marks those that follow on the standard streams as close-on-exec itself.
  const stdio = ["ignore", "pipe", "pipe", ...Array<"ignore">(57).fill("ignore"), "pipe", file, "pipe"] as const;
  const child = spawnSync(process.execPath, args, { stdio: [...stdio], encoding: "utf8" });
  closeSync(file);
  expect(child).toMatchObject({ status: 0, stdout: "[false,true,true]\n" });
});
