import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundleUi } from "./web-ui.ts";

const root = resolve(import.meta.dirname, "../..");

test("a checkout whose node_modules is a link makes the same Web UI, so that its executable is not built again", async () => {
  const linked = await mkdtemp(join(tmpdir(), "platform-linked-"));
  onTestFinished(() => rm(linked, { recursive: true, force: true }));
  for (const name of ["core", "web"]) await cp(join(root, name), join(linked, name), { recursive: true });
  await symlink(join(root, "node_modules"), join(linked, "node_modules"));
  const [own, its] = await Promise.all([root, linked].map(bundleUi));
  expect(its).toEqual(own);
});
