import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { askKube, askKubeRaw } from "../world/kubernetes/kube-client.ts";
import { allResources, type Entrance, KubePlatform, type KubeRole, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import type { KubeAuditEvent } from "../world/kubernetes/kube-world.ts";
import { kubectl } from "../world/kubernetes/kubectl.ts";
import { until } from "../world/until.ts";

const forbidden = 403;

/** A value for User-Agent, by which a request is found in both audit logs. */
const fresh = (): string => `story-${randomBytes(6).toString("hex")}`;

await describeKube("who the API server sees", (world) => {
  let platform: KubePlatform;
  const roles: Readonly<Record<string, KubeRole>> = {
    plain: { kubernetes_groups: ["dev", "ops"], kubernetes_resources: allResources },
    one: { kubernetes_users: ["robin"], kubernetes_groups: ["dev"], kubernetes_resources: allResources },
    several: { kubernetes_users: ["robin", "kim"], kubernetes_groups: ["dev"], kubernetes_resources: allResources },
  };
  const users: Record<string, KubeUser> = {};
  const entrances: Record<string, Entrance> = {};

  beforeAll(async () => {
    platform = await KubePlatform.open(world);
    for (const [name, role] of Object.entries(roles)) {
      const user = await platform.user(name, role);
      users[name] = user;
      entrances[name] = await user.entrance();
    }
  });
  afterAll(async () => await platform?.[Symbol.asyncDispose]());

  const entrance = (name: string): Entrance => {
    const found = entrances[name];
    if (found === undefined) throw new Error(`no user ${name}`);
    return found;
  };

  /** Whom the API server took the sender of these requests for, as `user: groups`. */
  const seen = async (agent: string): Promise<readonly string[]> => await seenWhere((event) => event.userAgent === agent);
  async function seenWhere(fits: (event: KubeAuditEvent) => boolean): Promise<readonly string[]> {
    const events = await world.auditEvents((event) => fits(event) && event.stage === "ResponseComplete");
    return events.map(({ user, impersonatedUser }: KubeAuditEvent) => {
      const groups = (impersonatedUser?.groups ?? []).filter((group) => group !== "system:authenticated").sort();
      return impersonatedUser === undefined ? `${user.username} itself` : `${impersonatedUser.username}: ${groups.join(" ")}`;
    });
  }

  /** Refused by us: their User-Agent, and the status. */
  const refused: { readonly agent: string; readonly status: number }[] = [];

  interface Row {
    readonly name: string;
    readonly as: string;
    readonly sent: readonly string[];
    /** Left out: refused before it reaches the API server. */
    readonly seen?: string;
  }
  const rows: readonly Row[] = [
    { name: "nothing, without kubernetes_users", as: "plain", sent: [], seen: "plain: dev ops" },
    { name: "nothing, with one user", as: "one", sent: [], seen: "robin: dev" },
    { name: "nothing, with several users", as: "several", sent: [] },
    { name: "a user that is allowed", as: "several", sent: ["Impersonate-User", "kim"], seen: "kim: dev" },
    { name: "a user that is not", as: "several", sent: ["Impersonate-User", "admin"] },
    { name: "the own name, without kubernetes_users", as: "plain", sent: ["Impersonate-User", "plain"], seen: "plain: dev ops" },
    { name: "the own name, with kubernetes_users", as: "one", sent: ["Impersonate-User", "one"] },
    { name: "an empty user, as client-go has it", as: "one", sent: ["Impersonate-User", "", "Impersonate-Group", "dev"], seen: "robin: dev" },
    { name: "two users", as: "several", sent: ["Impersonate-User", "kim", "Impersonate-User", "robin"] },
    { name: "two users of other case", as: "several", sent: ["Impersonate-User", "kim", "impersonate-user", "robin"] },
    { name: "a group: fewer rights", as: "plain", sent: ["Impersonate-Group", "ops"], seen: "plain: ops" },
    {
      name: "both groups, one twice",
      as: "plain",
      sent: ["Impersonate-Group", "ops", "Impersonate-Group", "dev", "Impersonate-Group", "ops"],
      seen: "plain: dev ops",
    },
    { name: "system:authenticated", as: "plain", sent: ["Impersonate-Group", "system:authenticated"], seen: "plain: " },
    { name: "a group that is not allowed", as: "plain", sent: ["Impersonate-Group", "system:masters"] },
    { name: "two groups joined in one line", as: "plain", sent: ["Impersonate-Group", "dev, ops"] },
    { name: "a UID", as: "plain", sent: ["Impersonate-Uid", "1"] },
    { name: "an extra", as: "plain", sent: ["Impersonate-Extra-Scopes", "all"] },
    { name: "an unknown kind of impersonation", as: "plain", sent: ["Impersonate-Whatever", "x"] },
    // Attempts to lose the agent's own headers, or to bring others in.
    {
      name: "Connection naming the headers",
      as: "plain",
      sent: ["Connection", "close, Impersonate-User, Impersonate-Group, Authorization"],
      seen: "plain: dev ops",
    },
    { name: "underscores", as: "plain", sent: ["Impersonate_User", "system:admin", "Impersonate_Group", "system:masters"] },
    {
      name: "a front proxy's headers",
      as: "plain",
      sent: ["X-Remote-User", "system:admin", "X-Remote-Group", "system:masters"],
      seen: "plain: dev ops",
    },
    { name: "a token of its own", as: "plain", sent: ["Authorization", "Bearer x"], seen: "plain: dev ops" },
  ];
  test.each(rows)("$name ($as): $seen", async ({ as, sent, seen: wanted }) => {
    const agent = fresh();
    const answer = await askKube(entrance(as), "/api/v1/namespaces/default/pods", {
      headers: ["User-Agent", agent, "Accept", "application/json", ...sent],
    });
    // RBAC gives none of them anything, so that the API server refuses what reaches it.
    expect(answer.status).toBe(forbidden);
    expect(JSON.parse(answer.text)).toMatchObject({ kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403 });
    expect(await seen(agent)).toEqual(wanted === undefined ? [] : [wanted]);
    if (wanted === undefined) refused.push({ agent, status: forbidden });
  });

  test("tsh kube login --as, --as-groups, --kube-namespace and --set-context-name: what kubectl sends, and tsh kubectl", async () => {
    const { user, kubectl: run, env: own } = users.several ?? expect.fail("no user");
    const env = { ...own, KUBECONFIG: join(user.home, "as"), PATH: `${dirname(await kubectl("1.36"))}:${process.env.PATH}` };
    const login = (as: string, kubeNamespace: string) =>
      user.tsh(
        [
          "kube",
          "login",
          platform.kube,
          `--as=${as}`,
          "--as-groups=dev",
          `--kube-namespace=${kubeNamespace}`,
          `--set-context-name={{.KubeName}}-as-${as}`,
        ],
        { env },
      );
    const inNamespace = (name: string) => seenWhere(({ objectRef }) => objectRef?.namespace === name && objectRef.resource === "pods");
    const attic = fresh();
    expect(await login("kim", attic)).toMatchObject({ status: 0 });
    expect(await run("1.36", ["config", "current-context"], { env })).toMatchObject({ stdout: `${platform.kube}-as-kim\n` });
    // RBAC gives nobody anything: the API server says whom it has refused.
    const refused = new RegExp(`User "kim" cannot list resource "pods" .* in the namespace "${attic}"`);
    expect(await run("1.36", ["get", "pods"], { env })).toMatchObject({ status: 1, stderr: expect.stringMatching(refused) });
    expect(await user.tsh(["kubectl", "get", "pods"], { env })).toMatchObject({ status: 1, stderr: expect.stringMatching(refused) });
    expect(await inNamespace(attic)).toEqual(["kim: dev", "kim: dev"]);
    const cellar = fresh();
    expect(await login("admin", cellar)).toMatchObject({ status: 0 });
    expect(await run("1.36", ["get", "pods"], { env })).toMatchObject({ status: 1, stderr: expect.stringMatching(/Forbidden.*kubernetes_users/) });
    expect(await inNamespace(cellar)).toEqual([]);
  });

  const forms = [
    "//evil/api/v1/pods",
    "/api//v1/pods",
    "/api/v1/../v1/pods",
    "/api/v1/./pods",
    "/api/v1/namespaces/default/pods/..",
    "/api/%2e%2e/api/v1/pods",
    "/api/v1/%2E%2E/pods",
    "/api/v1/namespaces/default%2fpods",
    "/api/v1/namespaces/default%2Fpods",
    "/api/v1/namespaces/default%5cpods",
    "/api/v1\\pods",
    "/api/v1/pods%00",
    "/api/v1/namespaces/%00/pods",
    "/api/v1/p\u00f6ds",
    "/api/v1/namespaces/%zz/pods",
    "/api/v1/namespaces/%ff/pods",
    "/api/v1/namespaces/def%0aault/pods",
  ];
  test.each(forms)("the path %j is refused, and nothing reaches the API server", async (form) => {
    const agent = fresh();
    const { prefix, host, port } = entrance("plain");
    const printed = await askKubeRaw(entrance("plain"), [
      `GET ${prefix}${form} HTTP/1.1`,
      `Host: ${host}:${port}`,
      `User-Agent: ${agent}`,
      "Connection: close",
    ]);
    expect(printed).toMatch(/^HTTP\/1\.1 400 /);
    expect(await seen(agent)).toEqual([]);
    refused.push({ agent, status: 400 });
  });

  test.each(["http://evil.test/api/v1/pods", "https://evil.test:443/api", "evil.test:443", "*"])(
    "the target %s is refused, and nothing reaches the API server",
    async (form) => {
      const agent = fresh();
      const printed = await askKubeRaw(entrance("plain"), [`GET ${form} HTTP/1.1`, "Host: evil.test", `User-Agent: ${agent}`, "Connection: close"]);
      expect(printed).toMatch(/^HTTP\/1\.1 4\d\d /);
      expect(await seen(agent)).toEqual([]);
      refused.push({ agent, status: Number(printed.slice(9, 12)) });
    },
  );

  test("two lengths, and a length beside chunks, are refused", async () => {
    const { prefix, host, port } = entrance("plain");
    for (const lengths of [
      ["Content-Length: 3", "Content-Length: 4"],
      ["Content-Length: 3", "Transfer-Encoding: chunked"],
    ]) {
      const agent = fresh();
      const head = [`POST ${prefix}/api/v1/namespaces/default/pods HTTP/1.1`, `Host: ${host}:${port}`, `User-Agent: ${agent}`, ...lengths];
      expect(await askKubeRaw(entrance("plain"), head)).toMatch(/^HTTP\/1\.1 400 /);
      expect(await seen(agent)).toEqual([]);
      refused.push({ agent, status: 400 });
    }
  });

  test("each request that we refuse is in our audit log, by its User-Agent, or without one where it could not be read", async () => {
    const unread = 4;
    const events = await until("all are audited", async () => {
      const found = (await auditEvents(platform.cluster, "kube.request")).filter(({ code }) => code === "T3009W");
      const left = refused.filter(({ agent }) => !found.some((one) => one.user_agent === agent));
      const nameless = found.filter(({ user_agent: agent }) => agent === undefined);
      if (left.length > unread || nameless.length < unread)
        throw new Error(`${left.length} are missing, ${nameless.length} without a name: ${JSON.stringify(nameless)}`);
      return found;
    });
    for (const { agent, status } of refused) {
      const found = events.find((one) => one.user_agent === agent);
      if (found !== undefined) expect(found).toMatchObject({ kubernetes_cluster: platform.kube, response_code: status, error: expect.any(String) });
    }
    const nameless = events.filter(({ user_agent: agent }) => agent === undefined);
    for (const event of nameless) expect(event).toMatchObject({ user: "plain", response_code: 400, verb: "", request_path: "" });
    expect(nameless.map(({ error }) => error)).toEqual(expect.arrayContaining([expect.stringMatching(/malformed: .*Content-Length/)]));
  });

  test("each request is in our audit log, with who the API server saw", async () => {
    const agent = fresh();
    await askKube(entrance("one"), "/api/v1/namespaces/default/pods?limit=7", { headers: ["User-Agent", agent] });
    const event = await until("the request is audited", async () =>
      (await auditEvents(platform.cluster, "kube.request")).find((one) => one.user_agent === agent),
    );
    expect(event).toMatchObject({
      ...{ user: "one", kubernetes_cluster: platform.kube, request_path: "/api/v1/namespaces/default/pods", verb: "GET", kubernetes_verb: "list" },
      ...{ response_code: forbidden, resource_namespace: "default", kubernetes_users: ["robin"], proto: "kube" },
    });
  });
});
