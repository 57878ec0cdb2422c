import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestAgent } from "../../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";

let cluster: TestCluster;
/** Somebody with every right, and somebody with none. */
let boss: WebBrowser;
let guest: WebBrowser;

beforeAll(async () => {
  cluster = await startTestCluster();
  await cluster.putRole("nobody", {});
  boss = await openBrowser(cluster, "boss", ["access", "editor", "auditor"]);
  guest = await openBrowser(cluster, "guest", ["nobody"]);
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe("the preview of a role", () => {
  const yaml = (logins: string) =>
    `kind: role\nversion: v7\nmetadata:\n  name: preview\nspec:\n  allow:\n    logins: [${logins}]\n    node_labels: {env: preview}\n`;
  const preview = async (body: object) => await boss("/role-preview", { method: "POST", body });

  test("names what its users gain and lose, and stores nothing", async () => {
    await cluster.putRole("preview", { allow: { logins: ["root"], node_labels: { env: "preview" } } });
    await cluster.admin.putResource({
      json: JSON.stringify({ kind: "user", version: "v2", metadata: { name: "fay" }, spec: { roles: ["preview"] } }),
    });
    const agent = await startTestAgent(cluster, { hostname: "preview-1", labels: { env: "preview" } });
    try {
      const place = { user: "fay", kind: "ssh", name: "preview-1" };
      await expect
        .poll(async () => (await preview({ yaml: yaml("dev") })).body.changes)
        .toEqual([
          { ...place, change: "gained", as: ["dev"] },
          { ...place, change: "lost", as: ["root"] },
        ]);
      const { body } = await preview({ yaml: yaml("root") });
      expect(body).toMatchObject({ users: 1, is_partial: false, changes: [], role: { metadata: { name: "preview" } } });
      expect((await preview({ role: body.role, users: ["guest"] })).body).toMatchObject({
        users: 2,
        yaml: body.yaml,
        changes: [{ ...place, user: "guest", change: "gained", as: ["root"] }],
      });
      expect((await boss("/resources/role/preview")).body).toMatchObject({ spec: { allow: { logins: ["root"] } } });
    } finally {
      agent.end();
    }
  });

  test.for([
    ["neither form", {}, 400],
    ["both forms", { yaml: yaml("a"), role: {} }, 400],
    ["another kind", { yaml: "kind: lock\nversion: v2\nmetadata: {name: a}\nspec: {target: {user: a}}\n" }, 400],
    ["an unknown field", { yaml: yaml("a").replace("logins", "colours") }, 400],
    ["a template that cannot be read", { yaml: yaml('"{{other.x}}"') }, 400],
    ["an unknown user", { yaml: yaml("a"), users: ["nobody-here"] }, 404],
  ] as const)("with %s is refused", async ([, body, status]) => {
    expect((await preview(body)).status).toBe(status);
  });

  test("needs the rights to see roles and users, before anything is read", async () => {
    for (const text of [yaml("a"), "kind: ["]) expect((await guest("/role-preview", { method: "POST", body: { yaml: text } })).status).toBe(403);
  });
});

describe("the preview of a user", () => {
  const user = (spec: object, name = "gil") => ({ kind: "user", version: "v2", metadata: { name }, spec });
  const preview = async (body: object) => await boss("/user-preview", { method: "POST", body });

  test("names what the user gains and loses by other roles and traits, and stores nothing", async () => {
    const labels = { env: "user-preview" };
    await cluster.putRole("own-login", { allow: { logins: ["{{internal.logins}}"], node_labels: labels } });
    await cluster.putRole("reads-events", { allow: { rules: [{ resources: ["event"], verbs: ["list"] }] } });
    const stored = user({ roles: ["own-login"], traits: { logins: ["gil"] } });
    await cluster.admin.putResource({ json: JSON.stringify(stored) });
    const agent = await startTestAgent(cluster, { hostname: "preview-2", labels });
    try {
      const place = { user: "gil", kind: "ssh", name: "preview-2" };
      const changed = user({ roles: ["own-login", "reads-events"], traits: { logins: ["deploy"] } });
      await expect
        .poll(async () => (await preview({ user: changed })).body.changes)
        .toEqual([
          { ...place, change: "gained", as: ["deploy"] },
          { ...place, change: "lost", as: ["gil"] },
          { user: "gil", kind: "rule", name: "event", change: "gained", as: ["list"] },
        ]);
      const { body } = await preview({ user: changed });
      expect(body).toMatchObject({ is_stored: true, is_partial: false, user: changed });
      expect((await preview({ yaml: body.yaml })).body).toEqual(body);
      expect((await preview({ user: user({ roles: ["own-login"], traits: { logins: ["eva"] } }, "new-one") })).body).toMatchObject({
        is_stored: false,
        changes: [{ ...place, user: "new-one", change: "gained", as: ["eva"] }],
      });
      expect((await boss("/resources/user/gil")).body).toMatchObject({ spec: stored.spec });
    } finally {
      agent.end();
    }
  });

  test.for([
    ["neither form", {}],
    ["both forms", { yaml: "kind: user", user: user({ roles: ["access"] }) }],
    ["no role", { user: user({ roles: [] }) }],
    ["another kind", { yaml: "kind: lock\nversion: v2\nmetadata: {name: a}\nspec: {target: {user: a}}\n" }],
  ] as const)("with %s is refused", async ([, body]) => {
    expect((await preview(body)).status).toBe(400);
  });

  test("needs the rights to see roles and users, before anything is read", async () => {
    expect((await guest("/user-preview", { method: "POST", body: { yaml: "kind: [" } })).status).toBe(403);
  });
});

describe("the preview of freezes", () => {
  const yaml = (freezes: string) =>
    `kind: upgrade_rollout\nversion: v1\nmetadata:\n  name: default\nspec:\n  groups:\n    - name: all\n      labels: {"*": "*"}\n  freezes: ${freezes}\n`;
  const preview = async (body: object) => await boss("/rollout-preview", { method: "POST", body });

  test("shows the windows in which nothing would happen, and stores nothing", async () => {
    expect((await preview({ yaml: yaml("[]"), windows: true })).body).toMatchObject({ windows: [] });
    const name = "cluster-maintenance-config";
    const config = { kind: "cluster_maintenance_config", metadata: { name }, spec: { agent_upgrades: { utc_start_hour: 3 } } };
    await cluster.admin.putResource({ json: JSON.stringify(config), overwrite: true });
    const { body } = await preview({ yaml: yaml("[]"), windows: true });
    const windows = body.windows as { start: string }[];
    expect(windows).toHaveLength(7);
    const day = windows.at(-1)?.start.slice(0, 10) ?? "";
    const { rollout } = (await preview({ yaml: yaml(`[{from: ${day}, to: ${day}, reason: fair}]`) })).body as { rollout: { spec: object } };
    expect(rollout.spec).toMatchObject({ freezes: [{ from: day, to: day, reason: "fair" }] });
    const frozen = (await preview({ rollout, windows: true })).body;
    expect(frozen.windows).toEqual([...windows.slice(0, -1), { ...windows.at(-1), frozen: "fair" }]);
    expect((await preview({ yaml: frozen.yaml, windows: true })).body).toEqual(frozen);
    await cluster.admin.deleteResource({ kind: "cluster_maintenance_config", name });
    expect((await boss("/resources/upgrade_rollout/default")).status).toBe(404);
  });

  test("that end before they begin is refused, and a user without the right to see the plan", async () => {
    expect((await preview({ yaml: yaml("[{from: 2026-12-24, to: 2026-12-20}]") })).status).toBe(400);
    expect((await guest("/rollout-preview", { method: "POST", body: { yaml: yaml("[]") } })).status).toBe(403);
  });
});

describe("the preview of maintenance windows", () => {
  const yaml =
    "kind: cluster_maintenance_config\nversion: v1\nmetadata:\n  name: cluster-maintenance-config\nspec:\n  agent_upgrades:\n    utc_start_hour: 3\n    weekdays: [Tue]\n";
  const preview = async (text: string) => await boss("/maintenance-preview", { method: "POST", body: { yaml: text } });

  test("shows the windows that the plan would have, with freezes, and stores nothing", async () => {
    const { body } = await preview(yaml);
    const windows = body.windows as { start: string; stop: string }[];
    expect(windows).toHaveLength(7);
    for (const { start, stop } of windows) {
      expect([new Date(start).getUTCDay(), new Date(start).getUTCHours(), Date.parse(stop) - Date.parse(start)]).toEqual([2, 3, 3_600_000]);
    }
    expect((await boss("/upgrades/plan")).body.windows).toBeUndefined();
    const last = windows.at(-1)?.start ?? "";
    const spec = { groups: [{ name: "all", labels: { "*": "*" } }], freezes: [{ from: last, to: last.replace("T03", "T04"), reason: "fair" }] };
    await boss("/resources/upgrade_rollout", {
      method: "POST",
      body: { kind: "upgrade_rollout", version: "v1", metadata: { name: "default" }, spec },
    });
    const name = "cluster-maintenance-config";
    const config = { kind: "cluster_maintenance_config", metadata: { name }, spec: { agent_upgrades: { utc_start_hour: 3, weekdays: ["Tue"] } } };
    await cluster.admin.putResource({ json: JSON.stringify(config), overwrite: true });
    await expect
      .poll(async () => (await boss("/upgrades/plan")).body.windows)
      .toEqual([...windows.slice(0, -1), { ...windows.at(-1), frozen: "fair" }]);
    const { windows: shown, config: read, yaml: written } = (await preview(yaml)).body;
    expect(shown).toEqual((await boss("/upgrades/plan")).body.windows);
    const later = { ...(read as typeof config), spec: { agent_upgrades: { utc_start_hour: 4, weekdays: ["Tue"] } } };
    const moved = (await boss("/maintenance-preview", { method: "POST", body: { config: later } })).body;
    expect(moved.yaml).toBe(String(written).replace("hour: 3", "hour: 4"));
    expect((moved.windows as { start: string }[])[0]?.start).toContain("T04:00");
    await cluster.admin.deleteResource({ kind: "upgrade_rollout", name: "default" });
    await cluster.admin.deleteResource({ kind: "cluster_maintenance_config", name });
    await expect.poll(async () => (await boss("/upgrades/plan")).body).toMatchObject({ staged: false });
  });

  test.for([
    ["an hour that is not one", yaml.replace("hour: 3", "hour: 24")],
    ["another kind", "kind: lock\nversion: v2\nmetadata: {name: a}\nspec: {target: {user: a}}\n"],
    ["a text that is not YAML", "kind: ["],
  ] as const)("of %s is refused", async ([, text]) => {
    expect((await preview(text)).status).toBe(400);
  });

  test("needs the right to see the plan", async () => {
    expect((await guest("/maintenance-preview", { method: "POST", body: { yaml } })).status).toBe(403);
  });
});
