import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { User } from "./cluster-user.ts";
import { dialogueWith } from "./dialogue.ts";
import { openForward } from "./forward-load.ts";
import { output, run, start } from "./program.ts";

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

/** People at work: a shell, a transfer, a stock OpenSSH connection, a forwarded port, and a new login every now and then. */
export interface SessionLoad extends AsyncDisposable {
  /** Checks that the shell, OpenSSH and the forwarded port answer. Throws when one does not. */
  stillThere(): Promise<void>;
  /** Whether the transfer's end was reached with every byte right. */
  readonly transferred: Promise<boolean>;
  readonly logins: { readonly waitsMs: readonly number[]; readonly failures: readonly string[] };
  /** Ends the logins and says goodbye in the shell: the status that each ended with, 0 for a forwarded connection that was not cut. */
  finish(): Promise<Ended>;
}

/** The statuses when all is well. */
export const allWell = { shell: 0, openssh: 0, forward: 0 } as const satisfies Ended;

interface Ended {
  readonly shell: number | null;
  readonly openssh: number | null;
  readonly forward: number | null;
}

export async function startLoad(user: User, options: LoadOptions): Promise<SessionLoad> {
  const env = { TSH_HOME: user.home, PATH: `${join(user.executable, "..")}:${process.env.PATH ?? ""}` };
  const config = join(options.folder, "ssh-config");
  await writeFile(config, (await user.tsh(["config"])).stdout);
  const [login, host] = options.target.split("@") as [string, string];
  const shell = dialogueWith(
    start(user.executable, ["ssh", "-tt", options.target], { env }),
    (word) => `echo ${word.slice(0, 3)}""${word.slice(3)}\n`,
  );
  const openssh = dialogueWith(
    start("ssh", ["-F", config, "-o", "BatchMode=yes", `${login}@${host}.test.cluster`, "cat"], { env }),
    (word) => `${word}\n`,
  );
  const forward = await openForward(user, options.target);
  const transfer = start(user.executable, ["ssh", options.target, stream(options.bytes)], { env });
  const logins = { waitsMs: [] as number[], failures: [] as string[] };
  const ending = new AbortController();
  const loggingIn = keepLoggingIn(user, { ...options, logins }, ending.signal);
  const load: SessionLoad = {
    stillThere: async () => {
      await Promise.all([shell.ask(), openssh.ask(), forward.ask()]);
    },
    transferred: receive(transfer, options),
    logins,
    finish: async () => {
      ending.abort();
      await loggingIn;
      return { shell: await shell.end("exit\n"), openssh: await openssh.end(""), forward: await forward.end() };
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      for (const one of [shell, openssh, forward]) one.kill();
      transfer.kill("SIGKILL");
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
  const expected = (await output("sh", ["-c", `${stream(bytes)} | sha256sum`], { limitMs: 170_000 })).slice(0, 64);
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
      run(user.executable, ["ssh", target, "echo in"], { env: { TSH_HOME: user.home }, limitMs: 60_000 }).then((done) => {
        logins.waitsMs.push(performance.now() - began);
        if (done.status !== 0 || done.stdout !== "in\n") logins.failures.push(`${done.status}: ${done.stdout}${done.stderr}`);
      }),
    );
    // The pace of new logins.
    await sleep(everyMs, undefined, { signal }).catch(() => {});
  }
  await Promise.all(open);
}
