import { platformProgram } from "../cli/platform/platform.ts";
import type { Services } from "../cli/platform/services.ts";
import { runProgram } from "../cli/run-program.ts";

/** The server program; its exit status. */
export function run(args: readonly string[]): Promise<number> {
  return runProgram(platformProgram(services), args, { env: process.env, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
}

/** Everything that `start` may load, for the build: what was loaded once starts faster (code cache). */
export async function load(): Promise<void> {
  await Promise.all([loadControl(), loadAgent(), import("../core/ssh/native-crypto.ts")]);
}

const loadControl = () => Promise.all([import("../control/control.ts"), import("../control/config.ts")]);
const loadAgent = () => Promise.all([import("../agent/agent.ts"), import("../agent/config.ts")]);

const services: Services = {
  control: async (config, deps, signal) => {
    const [{ runControl }, { controlConfig }] = await loadControl();
    await runControl(controlConfig(config), deps, signal);
  },
  agent: async (config, { local, ...deps }, signal) => {
    const [{ runAgent }, { agentConfig }] = await loadAgent();
    await runAgent(agentConfig(config, local), deps, signal);
  },
};
