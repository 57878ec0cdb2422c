import { version } from "../../core/versions/version.ts";
import type { ProcessState } from "./reload/process-state.ts";

/** What every process tells of itself, in the text form of Prometheus, and then what its control tells. */
export async function processMetrics(state: ProcessState): Promise<string> {
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, value: number): void => new Gauge({ name, help, registers }).set(value);
  const { services, tunnels, sessions, ready, started } = state.facts();
  const labelNames = ["version", "node", "services"];
  new Gauge({ name: "platform_build_info", help: "1, with the version that runs", labelNames, registers }).set(
    { version, node: process.versions.node, services: services.join(",") },
    1,
  );
  gauge("platform_ready", "1 when everything that the configuration enables serves, else 0", ready ? 1 : 0);
  gauge("platform_tunnels", "Tunnels that are up: of agents to this proxy, and of this agent", tunnels);
  gauge("platform_sessions", "Streams of people that are open in this process", sessions);
  gauge("platform_reload_failed", "1 while the last reload that was tried has failed, else 0", state.failedReload === undefined ? 0 : 1);
  gauge("process_start_time_seconds", "When the process started, Unix time", Date.parse(started) / 1000);
  gauge("process_resident_memory_bytes", "Resident memory", process.memoryUsage.rss());
  const { user, system } = process.cpuUsage();
  new Counter({ name: "process_cpu_seconds_total", help: "CPU time, user and system", registers }).inc((user + system) / 1e6);
  return (await registry.metrics()) + (await state.controlMetrics());
}
