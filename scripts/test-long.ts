import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/*
 * `make test-long`: what a release needs beside `make test`. Everything that proves by repetition runs in full: 50 kills, 20 power
 * cuts, 10 GB, every decoder against 100,000 inputs, an hour of sessions. The result, good or bad, goes to bench/LONG.md.
 */

const root = resolve(import.meta.dirname, "..");

interface Step {
  readonly name: string;
  readonly argv: readonly string[];
  /** The lines of its output that say what it found. */
  readonly found: RegExp;
}

const steps: readonly Step[] = [
  { name: "tests, each repetition in full", argv: ["make", "test"], found: /^\d+ passed, \d+ failed.*$|^ *[\d.]+ s {2}test\/stories\/.*$/gm },
  { name: "fuzzing, 100,000 runs of each property", argv: ["make", "fuzz"], found: /^ *(?:Test Files|Tests) .*$/gm },
  { name: "an hour of sessions", argv: ["make", "soak"], found: /^.*\S.*$/gm },
];

interface Outcome {
  readonly step: Step;
  readonly status: number | null;
  readonly minutes: number;
  readonly found: readonly string[];
}

async function run(step: Step): Promise<Outcome> {
  const begin = performance.now();
  const [program = "", ...args] = step.argv;
  const env = { ...process.env, TEST_LONG: "1", NO_COLOR: "1" };
  const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  const output: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    output.push(chunk);
    process.stdout.write(chunk);
  });
  const [status] = (await once(child, "close")) as [number | null];
  const found = Buffer.concat(output).toString().match(step.found) ?? [];
  return { step, status, minutes: (performance.now() - begin) / 60_000, found: found.slice(-12) };
}

function section({ step, status, minutes, found }: Outcome): string {
  const result = status === 0 ? "passed" : "FAILED";
  return `## ${step.name}: ${result}, ${minutes.toFixed(0)} minutes\n\n\`${step.argv.join(" ")}\`\n\n\`\`\`\n${found.join("\n")}\n\`\`\`\n`;
}

async function commit(): Promise<string> {
  const child = spawn("git", ["describe", "--always", "--dirty"], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  return text.toString().trim();
}

const of = await commit();
const outcomes: Outcome[] = [];
for (const step of steps) outcomes.push(await run(step));
const head = `# The last long run\n\n\`make test-long\` of ${of}, ended ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC.\n`;
writeFileSync(join(root, "bench/LONG.md"), [head, ...outcomes.map(section)].join("\n"));
process.exitCode = outcomes.every(({ status }) => status === 0) ? 0 : 1;
