import { resolve } from "node:path";
import { expect, test } from "vitest";
import { startMachine } from "../world/machine.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import { until } from "../world/until.ts";

/** What the updater sees of the agent's service on a real systemd; scripts stand in for the agent. */

const there = "/opt/source";
const machine = machineFixture(() => startMachine({ binds: { [resolve(import.meta.dirname, "../..")]: there } }));
const node = `${there}/node_modules/node-linux-${process.arch}/bin/node`;

async function call(method: string, ...args: string[]): Promise<{ value?: unknown; reason?: string; message?: string }> {
  return JSON.parse(await machine().output([node, `${there}/test/world/call-agent-service.ts`, method, ...args]));
}

async function agentRuns(command: string, reload = "/bin/true"): Promise<void> {
  const service = `ExecStart=${command}\nExecReload=${reload}\nRestart=always\nRestartSec=5\nRuntimeDirectory=platform\n`;
  await machine().write("/etc/systemd/system/platform.service", `[Service]\n${service}[Install]\nWantedBy=multi-user.target\n`);
  await machine().systemctl("daemon-reload");
  await machine().run(["systemctl", "reset-failed", "platform"]);
  await machine().systemctl("restart", "platform");
}

/** An agent with a status socket. */
const answering = `import { createServer } from "node:http";
const status = { pid: process.pid, version: "1.1.0", host_id: "h1", ready: process.argv[2] === "ready", services: ["ssh"], sessions: 2, draining: [{ sessions: 3 }] };
createServer((request, response) => response.end(JSON.stringify(status))).listen(\`/run/platform/status-\${process.pid}.sock\`);
`;

test("a host without the agent has nothing to see, and nothing to reload", async () => {
  expect(await call("facts")).toEqual({ value: { active: false, enabled: false, sessions: 0, draining: 0 } });
  expect(await call("reload")).toMatchObject({ reason: "restart_needed", message: expect.stringContaining("platform.service") });
});

test("an agent that answers is seen with its sessions, and is healthy when it stays ready", async () => {
  await machine().write("/opt/agent.mjs", answering);
  await agentRuns(`${node} /opt/agent.mjs ready`);
  await machine().systemctl("enable", "platform");
  const facts = await until("it answers", async () => {
    const { value } = await call("facts");
    return JSON.stringify(value).includes("1.1.0") && value;
  });
  const about = { version: "1.1.0", ready: true, hostId: "h1", sessions: 5, draining: 1 };
  expect(facts).toEqual({ active: true, enabled: true, mainPid: expect.any(Number), ...about });
  expect(await call("reload")).toEqual({});
  expect(await call("watch", "1.1.0", "ready")).toEqual({ value: { healthy: true } });
});

test("an agent that knows no status socket is healthy when it stays up", async () => {
  await agentRuns("/bin/sleep infinity");
  expect(await call("facts")).toEqual({ value: { active: true, enabled: true, mainPid: expect.any(Number), sessions: 0, draining: 0 } });
  expect(await call("watch", "1.1.0")).toEqual({ value: { healthy: true } });
});

test("an agent that exits at its start is not", async () => {
  await agentRuns("/bin/false");
  expect(await call("watch", "1.1.0", "ready")).toEqual({
    value: { healthy: false, fault: "process", why: expect.any(String), refusesConfiguration: false },
  });
});

test("a failed reload is reported", async () => {
  await agentRuns("/bin/sleep infinity", "/bin/false");
  expect(await call("reload")).toMatchObject({ reason: "restart_needed", message: expect.stringContaining("systemctl reload") });
  expect(await call("restart")).toEqual({});
});
