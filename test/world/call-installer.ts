import { PlatformError } from "../../core/errors/platform-error.ts";
import { createLog } from "../../core/log/log.ts";
import { chooseInstaller } from "../../updater/installers/choose-installer.ts";
import type { InstallerKind } from "../../updater/installers/installer.ts";
import { UpgradeError } from "../../updater/tick/upgrade-error.ts";

/**
 * Runs on a machine of the tests: `node call-installer.ts auto|apt|yum|zypper METHOD [ARGUMENT…]` calls one method of the
 * updater's installer and prints the result as JSON; the log goes to the standard error.
 */
const [kind = "auto", method = "", name = "platform-ent", version = ""] = process.argv.slice(2);

async function call(): Promise<unknown> {
  const life = new AbortController();
  const log = createLog({ level: "debug", format: "text", write: (line) => process.stderr.write(line) });
  const installer = chooseInstaller(
    kinds.find((one) => one === kind),
    { log, env: process.env, signal: life.signal },
  );
  switch (method) {
    case "kind":
      return installer.kind;
    case "installed":
      return await installer.installed(name);
    case "hold":
      return await installer.hold(name);
    case "refresh":
      return await installer.refresh();
    case "available":
      return await installer.available(name, version);
    case "shortage":
      return await installer.shortage(name, version);
    case "keep":
      return await installer.keep(name, version);
    case "install":
      return await installer.install(name, version, { allowDowngrade: false });
    case "downgrade":
      return await installer.install(name, version, { allowDowngrade: true });
    case "heal":
      return await installer.heal();
    default:
      throw new PlatformError("invalid", `there is no method ${method}`);
  }
}

const kinds: readonly InstallerKind[] = ["apt", "yum", "zypper"];

try {
  process.stdout.write(JSON.stringify({ value: await call() }));
} catch (thrown) {
  if (!(thrown instanceof UpgradeError)) throw thrown;
  process.stdout.write(JSON.stringify({ reason: thrown.reason, message: thrown.message }));
}
