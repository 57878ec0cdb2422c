import { PlatformError } from "../../core/errors/platform-error.ts";
import { inCluster } from "../../core/kubernetes/in-cluster.ts";
import { createLog } from "../../core/log/log.ts";
import { type KubeSettings, kubeUsage, parseKubeSettings } from "./kube-settings.ts";
import { serveController } from "./serve-controller.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Output and stop signal of the controller. */
export interface KubeTerminal {
  out(line: string): void;
  err(line: string): void;
  readonly signal: AbortSignal;
}

/** The Kubernetes updater: runs until the signal. Returns the exit status: 0 when stopped, 1 if it could not start, 2 for a wrong command line. */
export async function runKubeUpdater(args: readonly string[], env: Env, terminal: KubeTerminal): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    terminal.out(kubeUsage);
    return 0;
  }
  let settings: KubeSettings;
  try {
    settings = parseKubeSettings(args);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    terminal.err(`ERROR: ${thrown.message}`);
    terminal.err("run platform-upgrade kube --help for the flags");
    return 2;
  }
  const log = createLog({ level: settings.logLevel, format: "json", write: (line) => terminal.err(line.trimEnd()) });
  try {
    await serveController(settings, { pod: await inCluster(env), env, log, signal: terminal.signal });
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    log.error("could not start", { error: thrown.message, hint: thrown.hint });
    return 1;
  }
}
