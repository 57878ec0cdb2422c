import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const tops = ["agent", "control", "cli", "core", "updater", "programs", "web"];
/** Words in code font that are not files: programs of others, ALPN names, an option of roles. */
const others = new Set(["psql", "curl", "platform-stream", "platform-direct", "platform-auth", "port_forwarding"]);

/** Every file and folder below the folders of the programs, without the ending: `agent/ssh/serve-ssh`. */
function paths(): readonly string[] {
  const found = tops.flatMap((top) => readdirSync(join(root, top), { recursive: true }).map((path) => `${top}/${String(path)}`));
  return [...tops, "main", ...found.map((path) => path.replace(/\.(tsx?|c)$/, ""))];
}

test("each step of the paths in ARCHITECTURE.md is a file or a folder that is there", () => {
  const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const section = page.slice(page.indexOf("## Paths through the code"), page.indexOf("## Rules"));
  const steps = [...section.matchAll(/`([a-z0-9_./-]+)`/g)].map(([, step = ""]) => step).filter((step) => !others.has(step));
  const all = paths();
  expect(steps.length).toBeGreaterThan(100);
  expect(steps.filter((step) => !all.some((path) => path === step || path.endsWith(`/${step}`)))).toEqual([]);
});

test("from tsh ssh to the shell a reader opens at most 30 files", () => {
  const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const begin = page.indexOf("**`tsh ssh root@host`**");
  const line = page.slice(begin, page.indexOf("**PAM, if configured**", begin));
  const steps = [...line.matchAll(/`([a-z0-9_./-]+)`/g)].map(([, step = ""]) => step).filter((step) => !others.has(step));
  const all = paths();
  const meant = steps.map((step) => all.filter((path) => path === step || path.endsWith(`/${step}`)));
  expect(steps.filter((_, at) => meant[at]?.length !== 1)).toEqual([]);
  // A folder beside the program in it.
  const files = new Set(meant.flat().filter((path) => path !== "agent/host/session"));
  expect(files.size).toBeGreaterThan(20);
  expect(files.size).toBeLessThanOrEqual(30);
});
