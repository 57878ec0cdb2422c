import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** The built executable and its names; `make build` makes them. PLATFORM_DIST names another folder. */
export const dist: string = resolve(process.env.PLATFORM_DIST ?? resolve(import.meta.dirname, "../../dist"));

/** `folder`: where others than the built ones are. */
export function program(name: "platform" | "tsh" | "tctl", folder: string = dist): string {
  const path = resolve(folder, name);
  if (!existsSync(path)) throw new Error(`${path} is missing: run make build first`);
  return path;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
  readonly cwd?: string;
  readonly limitMs?: number;
  /** Network namespace to run in. */
  readonly netns?: string | undefined;
}

export interface Finished {
  /** Exit status, or 128 + signal number as a shell has it; -1 when the time limit ended it. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly raw: Buffer;
}

/** A clean environment: nothing of the tester's own proxies or profile. */
export function cleanEnv(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", LANG: "C.UTF-8", HOME: process.env.HOME ?? "/", ...env };
}

/** Runs a command to its end; never throws for its exit status. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const child = start(command, args, options);
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => err.push(chunk));
  child.stdin?.on("error", () => {});
  child.stdin?.end(options.input);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, options.limitMs ?? 60_000);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  const raw = Buffer.concat(out);
  const status = late ? -1 : (code ?? 128 + (signal === "SIGKILL" ? 9 : 15));
  return { status, stdout: raw.toString(), stderr: Buffer.concat(err).toString() + (late ? "\n[ended by the test's time limit]" : ""), raw };
}

/** Runs a command that must succeed; its standard output. */
export async function output(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const done = await run(command, args, options);
  if (done.status !== 0) throw new Error(`${command} ${args.join(" ")}: exit ${done.status}\n${done.stdout}${done.stderr}`);
  return done.stdout;
}

export function start(command: string, args: readonly string[], options: RunOptions = {}): ChildProcess {
  const [file, all] = options.netns === undefined ? [command, args] : ["ip", ["netns", "exec", options.netns, command, ...args]];
  return spawn(file, all, { env: cleanEnv(options.env), stdio: "pipe", ...(options.cwd !== undefined && { cwd: options.cwd }) });
}
