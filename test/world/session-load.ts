import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { User } from "./cluster-user.ts";
import { output, program, run, start } from "./program.ts";
import { until } from "./until.ts";

export interface LoadOptions {
  /** `login@host`. */
  readonly target: string;
  readonly folder: string;
  /** Of the transfer. */
  readonly bytes: number;
  readonly bytesPerSecond: number;
  /** Between two new logins, ms. */
  readonly everyMs: number;
}

/** People at work: a shell, a transfer, a stock OpenSSH connection, and a new login every now and then. */
export interface SessionLoad extends AsyncDisposable {
  /** Something typed in the shell, and through OpenSSH, is answered. Throws when it is not. */
  stillThere(): Promise<void>;
  /** Whether the transfer's end was reached with every byte right. */
  readonly transferred: Promise<boolean>;
  readonly logins: { readonly waitsMs: readonly number[]; readonly failures: readonly string[] };
  /** Ends the logins and says goodbye in the shell: the status that each program ended with. */
  finish(): Promise<{ readonly shell: number | null; readonly openssh: number | null }>;
}

export async function startLoad(user: User, options: LoadOptions): Promise<SessionLoad> {
  const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
  const config = join(options.folder, "ssh-config");
  await writeFile(config, (await user.tsh(["config"])).stdout);
  const [login, host] = options.target.split("@") as [string, string];
  const shell = dialogue(start(program("tsh"), ["ssh", "-tt", options.target], { env }), (word) => `echo ${word.slice(0, 3)}""${word.slice(3)}\n`);
  const openssh = dialogue(
    start("ssh", ["-F", config, "-o", "BatchMode=yes", `${login}@${host}.test.cluster`, "cat"], { env }),
    (word) => `${word}\n`,
  );
  const transfer = start(program("tsh"), ["ssh", options.target, stream(options.bytes)], { env });
  const logins = { waitsMs: [] as number[], failures: [] as string[] };
  const ending = new AbortController();
  const loggingIn = keepLoggingIn(user, { ...options, logins }, ending.signal);
  const load: SessionLoad = {
    stillThere: async () => {
      await Promise.all([shell.ask(), openssh.ask()]);
    },
    transferred: receive(transfer, options),
    logins,
    finish: async () => {
      ending.abort();
      await loggingIn;
      return { shell: await shell.end("exit\n"), openssh: await openssh.end("") };
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      for (const child of [shell.child, openssh.child, transfer]) child.kill("SIGKILL");
      await loggingIn;
    },
  };
  load.transferred.catch(() => {});
  await load.stillThere();
  return load;
}

/** A stream that looks random and is the same every time. */
function stream(bytes: number): string {
  return `openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 2>/dev/null </dev/zero | head -c ${bytes}`;
}

async function receive(child: ChildProcess, { bytes, bytesPerSecond }: LoadOptions): Promise<boolean> {
  const [hash, began] = [createHash("sha256"), performance.now()];
  let count = 0;
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    hash.update(chunk);
    count += chunk.length;
    // Reads at the wanted speed, so that the transfer lasts.
    const aheadMs = (count / bytesPerSecond) * 1000 - (performance.now() - began);
    if (aheadMs > 20) await sleep(aheadMs);
  }
  const expected = (await output("sh", ["-c", `${stream(bytes)} | sha256sum`])).slice(0, 64);
  return count === bytes && hash.digest("hex") === expected;
}

interface Logins extends LoadOptions {
  readonly logins: { readonly waitsMs: number[]; readonly failures: string[] };
}

/** They begin on time, whether or not those before have ended. */
async function keepLoggingIn(user: User, { target, everyMs, logins }: Logins, signal: AbortSignal): Promise<void> {
  const open: Promise<void>[] = [];
  while (!signal.aborted) {
    const began = performance.now();
    open.push(
      run(program("tsh"), ["ssh", target, "echo in"], { env: { TSH_HOME: user.home }, limitMs: 60_000 }).then((done) => {
        logins.waitsMs.push(performance.now() - began);
        if (done.status !== 0 || done.stdout !== "in\n") logins.failures.push(`${done.status}: ${done.stdout}${done.stderr}`);
      }),
    );
    // The pace of new logins.
    await sleep(everyMs, undefined, { signal }).catch(() => {});
  }
  await Promise.all(open);
}

/** Asks and hears the answer over one connection, again and again. */
function dialogue(child: ChildProcess, question: (word: string) => string) {
  let [text, asked] = ["", 0];
  for (const output of [child.stdout, child.stderr]) {
    output?.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-10_000);
    });
  }
  child.stdin?.on("error", () => {});
  const closed = once(child, "close").then(([code]) => code as number | null);
  return {
    child,
    ask: async (): Promise<void> => {
      asked += 1;
      const word = `w${asked}ord${Math.random().toString(36).slice(2)}`;
      child.stdin?.write(question(word));
      await until(`an answer over the connection that is open`, () => {
        if (child.exitCode !== null) throw new Error(`it was cut: exit ${child.exitCode}\n${text}`);
        return text.includes(word);
      });
    },
    end: async (farewell: string): Promise<number | null> => {
      child.stdin?.end(farewell);
      return await closed;
    },
  };
}
