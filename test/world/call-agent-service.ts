import { silentLog } from "../../core/log/log.ts";
import { openAgentService } from "../../updater/service/open-agent-service.ts";
import { UpgradeError } from "../../updater/tick/upgrade-error.ts";

/**
 * Runs on a machine of the tests: `node call-agent-service.ts facts|reload|restart|watch [VERSION [ready]]` calls one method of
 * the updater's view of the agent's service, and prints the result as JSON.
 */
const [method = "", version = "", wasReady] = process.argv.slice(2);

async function call(): Promise<unknown> {
  const { signal } = new AbortController();
  const service = openAgentService({ log: silentLog, signal });
  if (method === "facts") return await service.facts();
  if (method === "reload") return await service.reload();
  if (method === "restart") return await service.restart();
  return await service.watch({ version, wasReady: wasReady === "ready", signal });
}

try {
  process.stdout.write(JSON.stringify({ value: await call() }));
} catch (thrown) {
  if (!(thrown instanceof UpgradeError)) throw thrown;
  process.stdout.write(JSON.stringify({ reason: thrown.reason, message: thrown.message }));
}
