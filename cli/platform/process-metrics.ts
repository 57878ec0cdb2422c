import { version } from "../../core/versions/version.ts";
import type { ProcessState } from "./reload/process-state.ts";

/** Metrics of every process, in the text format of Prometheus, followed by those of its control. */
export async function processMetrics(state: ProcessState): Promise<string> {
  const { Counter, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, value: number): void => new Gauge({ name, help, registers }).set(value);
  const { services, tunnels, sessions, ready, started } = state.facts();
  const labelNames = ["version", "node", "services"];
  new Gauge({ name: "platform_build_info", help: "1, labelled with the running version", labelNames, registers }).set(
    { version, node: process.versions.node, services: services.join(",") },
    1,
  );
  gauge("platform_ready", "1 when every configured service is ready, else 0", ready ? 1 : 0);
  gauge("platform_tunnels", "Open tunnels: of agents to this proxy, and of this agent", tunnels);
  gauge("platform_sessions", "Open user streams in this process", sessions);
  gauge("platform_reload_failed", "1 while the last attempted reload has failed, else 0", state.failedReload === undefined ? 0 : 1);
  gauge("process_start_time_seconds", "Start time of the process, Unix time", Date.parse(started) / 1000);
  gauge("process_resident_memory_bytes", "Resident memory", process.memoryUsage.rss());
  const { user, system } = process.cpuUsage();
  new Counter({ name: "process_cpu_seconds_total", help: "CPU time, user and system", registers }).inc((user + system) / 1e6);
  return (await registry.metrics()) + (await state.controlMetrics());
}
