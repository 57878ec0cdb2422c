import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/*
 * `make test-long [STEP=name]`: what a release needs beside `make test`. Everything that proves by repetition runs in full: 50 kills,
 * 20 power cuts, 10 GB, every decoder against 100,000 inputs, an hour of sessions. The result of each step, good or bad, takes the
 * place of its last one in bench/LONG.md, with the commit that it ran on: a machine that is needed can run them on different days.
 */

const root = resolve(import.meta.dirname, "..");
const resultsFile = join(root, "bench/LONG.md");
const heading = "# The last long runs\n\nWritten by `make test-long`.\n";
const linesShown = 40;

interface Step {
  readonly title: string;
  readonly argv: readonly string[];
  /** The lines of its output that go to the results. */
  readonly shown: RegExp;
}

const steps: Readonly<Record<string, Step>> = {
  tests: {
    title: "Tests, every repetition in full",
    argv: ["make", "test"],
    shown: /^\d+ passed, \d+ failed.*$|^ *[\d.]+ s {2}test\/stories\/.*$|^FAILED .*$|^skipped \d+: .*$|^\w+ of PostgreSQL: .*$/gm,
  },
  upgrade: {
    title: "From the last release to today and back, under load",
    argv: ["make", "test-upgrade"],
    shown: /^.*(?:✓|×|held: ).*$|^ *Tests .*$/gm,
  },
  conformance: {
    title: "Kubernetes' own specs, directly and through us",
    argv: ["make", "test-conformance"],
    shown: /^specs of .*$|^failed directly: .*$|^ *Tests .*$/gm,
  },
  demo: { title: "The demo, to its end", argv: ["make", "demo", "CHECK=1"], shown: /^# .*$/gm },
  fuzz: {
    title: "Fuzzing, 100,000 runs of each property, five minutes at most",
    argv: ["make", "fuzz"],
    shown: /^\d+ runs in \d+ s: .*$|^ *(?:Test Files|Tests) .*$/gm,
  },
  soak: { title: "An hour of sessions", argv: ["make", "soak"], shown: /^\|.*\|$|^.*Failed: .*$/gm },
};

async function sectionOf({ title, argv, shown }: Step): Promise<{ readonly passed: boolean; readonly text: string }> {
  const commit = await outputOf(["git", "describe", "--always", "--dirty"]);
  const begin = performance.now();
  const { status, output } = await run(argv, { ...process.env, TEST_LONG: "1", NO_COLOR: "1" });
  const minutes = ((performance.now() - begin) / 60_000).toFixed(0);
  const passed = status === 0;
  const ended = new Date().toISOString().slice(0, 16).replace("T", " ");
  const lines = output.match(shown) ?? [];
  const result = `${passed ? "Passed" : "FAILED"} on ${commit.trim()}: \`${argv.join(" ")}\`, ${minutes} minutes, ended ${ended} UTC.`;
  return { passed, text: `## ${title}\n\n${result}\n\n\`\`\`\n${lines.slice(-linesShown).join("\n")}\n\`\`\`\n` };
}

async function outputOf(argv: readonly string[]): Promise<string> {
  return (await run(argv, process.env, () => undefined)).output;
}

async function run(
  [program = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  echo: (chunk: Buffer) => void = (chunk) => void process.stdout.write(chunk),
): Promise<{ readonly status: number | null; readonly output: string }> {
  const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    echo(chunk);
  });
  const [status] = (await once(child, "close")) as [number | null];
  return { status, output: Buffer.concat(chunks).toString() };
}

/** The file with this section in the place of the one before; sections stand in the order of the steps. */
function put(title: string, section: string): void {
  const sections = new Map(
    read()
      .split(/^(?=## )/m)
      .map((text) => [/^## (.*)/.exec(text)?.[1] ?? "", text]),
  );
  sections.set(title, section);
  const ordered = Object.values(steps).flatMap((step) => sections.get(step.title) ?? []);
  writeFileSync(resultsFile, [heading, ...ordered.map((text) => `${text.trimEnd()}\n`)].join("\n"));
}

function read(): string {
  try {
    return readFileSync(resultsFile, "utf8");
  } catch {
    return "";
  }
}

const wanted = process.argv[2];
const names = wanted === undefined ? Object.keys(steps) : [wanted];
let allPassed = true;
for (const name of names) {
  const step = steps[name];
  if (step === undefined) throw new Error(`STEP=${name}: not a step; the steps are ${Object.keys(steps).join(", ")}`);
  const { passed, text } = await sectionOf(step);
  put(step.title, text);
  allPassed &&= passed;
}
process.exitCode = allPassed ? 0 : 1;
