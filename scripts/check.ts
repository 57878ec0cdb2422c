import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { type Step, steps } from "./check/steps.ts";

/* `make check`: every rule keeper, two at a time, each with its time; all run even when one fails. */

const root = resolve(import.meta.dirname, "..");
const path = [dirname(process.execPath), join(root, "node_modules/.bin"), process.env.PATH].join(delimiter);

interface Outcome {
  readonly step: Step;
  readonly passed: boolean;
}

async function run(step: Step): Promise<Outcome> {
  const begin = performance.now();
  const child = spawn(step.program, step.args, { cwd: root, env: { ...process.env, ...step.env, PATH: path }, stdio: ["ignore", "pipe", "pipe"] });
  if (child.pid !== undefined && step.niceness !== undefined) setPriority(child.pid, Math.min(19, getPriority() + step.niceness));
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => output.push(chunk));
  const [status] = (await once(child, "close")) as [number | null];
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  process.stdout.write(`${status === 0 ? "ok    " : "FAILED"} ${step.name} (${seconds} s)\n`);
  if (status !== 0) process.stdout.write(`${Buffer.concat(output).toString()}\n`);
  return { step, passed: status === 0 };
}

async function worker(queue: Step[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let step = queue.shift(); step !== undefined; step = queue.shift()) outcomes.push(await run(step));
  return outcomes;
}

mkdirSync(join(root, ".cache/reports"), { recursive: true });
const begin = performance.now();
const { tests, ...others } = steps;
const queue: Step[] = Object.values(others);
// The tests take longest and wait often: the others run beside them.
const outcomes = (await Promise.all([run(tests).then((one) => [one]), worker(queue)])).flat();
const failed = outcomes.filter((outcome) => !outcome.passed);
const time = `${((performance.now() - begin) / 1000).toFixed(1)} s`;
if (failed.length === 0) process.stdout.write(`check: all ${outcomes.length} passed in ${time}\n`);
else process.stdout.write(`check: ${failed.map((outcome) => outcome.step.name).join(", ")} failed, in ${time}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
