import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

/** A program whose work is this expression; its status and what it said. */
async function run(work: string): Promise<{ status: number; stderr: string }> {
  const script = `import { exitWith } from ${JSON.stringify(join(import.meta.dirname, "exit-with.ts"))};
exitWith(${work}, () => process.stderr.write("unfinished\\n"));`;
  return await new Promise((resolve) => {
    execFile(process.execPath, ["--input-type=module", "-e", script], { timeout: 30_000 }, (error, _stdout, stderr) =>
      resolve({ status: typeof error?.code === "number" ? error.code : 0, stderr }),
    );
  });
}

test.for([
  ["that settles has its status", "Promise.resolve(7)", 7, ""],
  ["that settles well is a success", "new Promise((resolve) => setTimeout(resolve, 5, 0))", 0, ""],
  ["that waits for what never comes is a failure, and says so", "new Promise(() => {})", 1, "unfinished\n"],
  ["that is ended from elsewhere is a failure", "new Promise(() => setTimeout(() => process.exit(), 5))", 1, ""],
  ["that leaves a handle open ends all the same", "(setInterval(() => {}, 1000), Promise.resolve(0))", 0, ""],
] as const)("work %s", async ([, work, status, stderr]) => {
  expect(await run(work)).toEqual({ status, stderr });
});
