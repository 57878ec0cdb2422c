import { platformProgram } from "../cli/platform/platform.ts";
import type { Services } from "../cli/platform/services.ts";
import { runProgram } from "../cli/run-program.ts";
import { agentServices } from "../core/config/platform-config.ts";

/** The server program; its exit status. */
export function run(args: readonly string[]): Promise<number> {
  return runProgram(platformProgram(services), args, { env: process.env, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
}

// Parts of the executable of their own: an agent's memory holds no control.
const loadControl = () => import("./control-service.ts");
const loadAgent = () => import("./agent-service.ts");

const services: Services = {
  control: async (config, deps, signal) => await (await loadControl()).controlService(config, deps, signal),
  agent: async (config, deps, signal) => await (await loadAgent()).agentService(config, deps, signal),
  check: async (config, inUse) => [
    ...(config.auth_service.enabled || config.proxy_service.enabled ? await (await loadControl()).checkService(config, inUse) : []),
    ...(agentServices(config).length > 0 ? await (await loadAgent()).checkService(config, process.env) : []),
  ],
  checkDatabases: async (config, authorities) => await (await loadAgent()).checkDatabases(config, authorities),
  sshCrypto: async (config) => (await (agentServices(config).length > 0 ? loadAgent() : loadControl())).sshCrypto(),
};
