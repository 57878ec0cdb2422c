import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCluster } from "../world/cluster.ts";
import { freePorts } from "../world/free-port.ts";
import { output } from "../world/program.ts";
import { until } from "../world/until.ts";

/** What a monitoring may take to see a loss, ms, and what this machine may need to say it when it is busy. */
const noticeMs = 30_000 + 10_000;

test("silent, killed and stopped agents are distinguished, named, and reported when they are back", { timeout: 300_000 }, async () => {
  await using cluster = await startCluster();
  const [port = 0] = await freePorts(1);
  const config = join(cluster.dir, "control.yaml");
  await writeFile(config, (await readFile(config, "utf8")).replace("platform:\n", `platform:\n  diag_addr: 127.0.0.1:${port}\n`));
  await cluster.restart();
  const metrics = () => output("curl", ["-sS", "--fail", "--max-time", "5", `http://127.0.0.1:${port}/metrics`]);
  const says = (line: RegExp) => async (): Promise<boolean> => line.test(await metrics());
  const events = async () => {
    const lines = (await cluster.admin("audit", "ls", "--event=agent.gone,agent.back", "--format=json")).trim();
    return lines === "" ? [] : lines.split("\n").map((line) => (JSON.parse(line) as { event: string; server_name: string }).event);
  };
  const web = await cluster.agent({ name: "web-1" });
  await cluster.agent({ name: "web-2" });
  const named = (value: number) => says(new RegExp(`^platform_agent_connected\\{host="[0-9a-f-]{36}",hostname="web-1"\\} ${value}$`, "m"));
  await until("the metrics name both", async () => (await named(1)()) && (await says(/hostname="web-2"\} 1$/m)()));
  expect(await metrics()).toMatch(/^platform_agents_gone 0$/m);

  process.kill(web.service.pid, "SIGSTOP");
  await until("a silent agent is named", says(/^platform_agent_gone\{host="[0-9a-f-]{36}",hostname="web-1"\} 1$/m), noticeMs);
  expect(await cluster.admin("status")).toContain("1 agent is gone: web-1");
  process.kill(web.service.pid, "SIGCONT");
  await until("it is no longer called gone", says(/^platform_agents_gone 0$/m));
  expect(await events()).toEqual(["agent.gone", "agent.back"]);

  await web.service.kill();
  await until("a killed agent is named", says(/^platform_agent_gone\{.*hostname="web-1"\} 1$/m), noticeMs);
  web.start();
  await until("and it is back", says(/^platform_agents_gone 0$/m));

  await web.service.stop();
  await until("a stopped agent is counted apart", says(/^platform_agents_stopped 1$/m), noticeMs);
  expect(await metrics()).toMatch(/^platform_agents_gone 0$/m);
  expect(await events()).toEqual(["agent.gone", "agent.back", "agent.gone", "agent.back"]);
});
