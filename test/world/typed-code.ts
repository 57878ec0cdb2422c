import { shellQuote } from "../../cli/shell-quote.ts";
import type { User } from "./cluster-user.ts";
import { type Service, startService } from "./service.ts";
import { until } from "./until.ts";

/** The user's tsh in a terminal of its own. */
export function tshInTerminal(user: User, args: readonly string[], before = ""): Service {
  const line = `${before}exec ${shellQuote([user.executable, ...args])}`;
  return startService("script", ["--quiet", "--return", "--command", line, "/dev/null"], { env: { TSH_HOME: user.home, TERM: "xterm" } });
}

/** Types a code once `tsh` asks for it. Throws what has been printed if it ends before. */
export async function typeCode(user: User, running: Service, code?: string): Promise<void> {
  await until("it asks for the code", () => {
    if (running.exited) throw new Error(`it has ended: ${running.printed()}`);
    return running.printed().includes(question);
  });
  running.type(`${code ?? (await user.code())}\r`);
}

const question = "Enter the code of your authenticator for ";

/** Everything printed until it ended. */
export async function printedAtEnd(running: Service, limitMs?: number): Promise<string> {
  await until("it ends", () => running.exited, limitMs);
  return running.printed();
}
