import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Runs a program whose work is this expression; returns its status and output. */
async function run(work: string): Promise<{ status: number; stderr: string }> {
  const script = `import { exitWith } from ${JSON.stringify(join(import.meta.dirname, "own-process.ts"))};
exitWith(${work}, () => process.stderr.write("unfinished\\n"));`;
  return await new Promise((resolve) => {
    execFile(process.execPath, ["--input-type=module", "-e", script], { timeout: 30_000 }, (error, _stdout, stderr) =>
      resolve({ status: typeof error?.code === "number" ? error.code : 0, stderr }),
    );
  });
}

test.for([
  ["that resolves to a status exits with it", "Promise.resolve(7)", 7, ""],
  ["that resolves is a success", "new Promise((resolve) => setTimeout(resolve, 5, 0))", 0, ""],
  ["that never settles is a failure, and reports it", "new Promise(() => {})", 1, "unfinished\n"],
  ["that is ended from elsewhere is a failure", "new Promise(() => setTimeout(() => process.exit(), 5))", 1, ""],
  ["that leaves a handle open ends anyway", "(setInterval(() => {}, 1000), Promise.resolve(0))", 0, ""],
] as const)("work %s", async ([, work, status, stderr]) => {
  expect(await run(work)).toEqual({ status, stderr });
});
