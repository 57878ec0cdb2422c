import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { httpStatus } from "../../control/proxy/web-api/server/answer-errors.ts";
import { toConnectError } from "../../core/api/auth-call.ts";
import { errorCodes, exitCodes, PlatformError } from "../../core/errors/platform-error.ts";

const root = resolve(import.meta.dirname, "../..");

/** Cells of every table row of a page, without the heads. */
function rows(page: string): string[][] {
  const lines = readFileSync(join(root, page), "utf8").split("\n");
  const table = lines.filter((line, at) => /^\| *[^ -]/.test(line) && !/^\| *--/.test(lines[at + 1] ?? ""));
  return table.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test("docs/errors.md lists every code in order, with its exit, HTTP and gRPC status", () => {
  const written = rows("docs/errors.md").map((cells) => cells.slice(0, 4));
  const grpc = (code: (typeof errorCodes)[number]): string => Code[toConnectError(new PlatformError(code, "")).code] ?? "";
  expect(written).toEqual(errorCodes.map((code) => [code, String(exitCodes[code]), String(httpStatus[code]), grpc(code)]));
});

test("docs/dependencies.md lists every dependency with its reason, and package.json pins each", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, Record<string, string>>;
  const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
  const written = rows("docs/dependencies.md");
  expect(written.map(([name]) => name).sort()).toEqual(Object.keys(all).sort());
  for (const [name, reason] of written) expect(reason?.length, name).toBeGreaterThan(4);
  for (const [name, wanted] of Object.entries(all)) expect(wanted, name).toMatch(/^\d+\.\d+\.\d+(-[a-z0-9.]+)?$/);
});
