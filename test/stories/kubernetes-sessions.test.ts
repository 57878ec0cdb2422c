import { readlink } from "node:fs/promises";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { auditEvents, audited } from "../world/audited.ts";
import type { User } from "../world/cluster-user.ts";
import { freePorts } from "../world/free-port.ts";
import { type HeldSession, holdSession } from "../world/held-session.ts";
import { busyboxImage } from "../world/kubernetes/busybox-image.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { heldStreams } from "../world/kubernetes/held-streams.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { type KubectlVersion, kubectl, kubectlVersions } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { findPlayed, listRecordings } from "../world/list-recordings.ts";
import { type ListedSession, listSessions } from "../world/owned-session.ts";
import { output } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { long, rows } from "../world/rounds.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

await describeKube("sessions in pods", (world) => {
  let platform: KubePlatform;
  let namespace: string;
  let user: KubeUser;

  beforeAll(async () => {
    [platform, namespace] = await Promise.all([KubePlatform.open(world), world.namespace("real")]);
    await Promise.all([
      startShellPod(world, namespace, "shell"),
      startShellPod(world, namespace, "dying"),
      startShellPod(world, namespace, "console", ["sh"], true),
      platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources }).then((made) => {
        user = made;
      }),
    ]);
  });
  afterAll(async () => await platform?.[Symbol.asyncDispose]());

  const started = async (version: KubectlVersion, args: readonly string[]): Promise<Service> =>
    startService(await kubectl(version), ["-n", namespace, ...args], { env: user.env });

  /** A shell in the pod, in a terminal of 100 columns and 40 rows. */
  async function openShell(version: KubectlVersion, command = "exec -it shell -- sh"): Promise<Service> {
    const line = `stty cols 100 rows 40; exec ${await kubectl(version)} -n ${namespace} ${command}`;
    const shell = startService("script", ["--quiet", "--flush", "--return", "--command", line, "/dev/null"], {
      env: { ...user.env, TERM: "xterm", SHELL: "/bin/sh" },
    });
    if (command.startsWith("attach")) {
      // Its prompt was shown to nobody.
      await shows(shell, /try pressing enter/);
      shell.type("\n");
    }
    await shows(shell, /# /);
    return shell;
  }

  /** The next session in this pod that the user may see, once it is listed. */
  async function next(seer: User, pod: string): Promise<() => Promise<ListedSession>> {
    const before = new Set((await listSessions(seer)).map(({ sid }) => sid));
    return () => until("it is listed", async () => (await listSessions(seer)).find((one) => one.pod?.name === pod && !before.has(one.sid)));
  }

  const shows = (shell: Service, wanted: RegExp): Promise<unknown> =>
    until(`the terminal shows ${wanted}`, () => {
      if (wanted.test(shell.printed())) return true;
      throw new Error(`so far: ${shell.printed()}`);
    });

  /** Changes the size of its terminal while it runs. */
  async function resize({ pid }: Service, columns: number, lines: number): Promise<void> {
    const child = (await output("pgrep", ["--parent", String(pid)])).trim();
    await output("stty", ["-F", await readlink(`/proc/${child}/fd/0`), "cols", String(columns), "rows", String(lines)]);
  }

  test.each(rows(kubectlVersions, ["1.20", "1.36"]))("kubectl %s exec -it: the terminal's size, another one later, and ^C", async (version) => {
    await using shell = await openShell(version);
    // The program starts with the size, or gets it soon.
    shell.type("while [ \"$(stty size)\" != '40 100' ]; do sleep 0.1; done; echo first si''ze\n");
    await shows(shell, /first size/);
    await resize(shell, 120, 50);
    shell.type("while [ \"$(stty size)\" != '50 120' ]; do sleep 0.1; done; echo second si''ze\n");
    await shows(shell, /second size/);
    shell.type("echo sta''rts; sleep 1000\n");
    await shows(shell, /starts/);
    shell.type("\u0003");
    shell.type("echo af''ter $?\n");
    await shows(shell, /after 130/);
    shell.type("exit 7\n");
    await until("the shell has ended", () => shell.exited);
    expect(shell.printed()).toContain("exit code 7");
  });

  describe("others join", () => {
    let watcher: User;
    let helper: User;

    const policy = { name: "j", kinds: ["k8s"], roles: ["role-of-ada"] };
    const mayHelp = { allow: { join_sessions: [{ ...policy, modes: ["peer"] }] } };

    beforeAll(async () => {
      const { cluster } = platform;
      await Promise.all([
        putRole(cluster, "watcher", { allow: { join_sessions: [{ ...policy, modes: ["observer"] }] } }),
        putRole(cluster, "helper", mayHelp),
        putRole(cluster, "host-helper", { allow: { join_sessions: [{ ...policy, kinds: ["ssh"], modes: ["*"] }] } }),
      ]);
      [watcher, helper] = await Promise.all([cluster.user("bob", { roles: "watcher,host-helper" }), cluster.user("carol", { roles: "helper" })]);
    });

    const told = (session: HeldSession, words: string): Promise<boolean> => until(`it gets: ${words}`, () => session.told().includes(words));

    const withoutRole = { why: "your roles do not let you take part as peer any more", takeAway: () => putRole(platform.cluster, "helper", {}) };
    const locked = { why: "not today", takeAway: () => platform.cluster.admin("lock", "--user=carol", "--message=not today") };

    test.each([
      { version: "1.20", pod: "shell", command: "exec -it shell -- sh", bye: "exit\n", ...withoutRole },
      { version: "1.36", pod: "console", command: "attach -it console", bye: "\u0004", ...locked },
    ] as const)("kubectl $version $command", async ({ version, pod, command, bye, why, takeAway }) => {
      await putRole(platform.cluster, "helper", mayHelp);
      const listed = await next(watcher, pod);
      await using shell = await openShell(version, command);
      shell.type("while [ \"$(stty size)\" != '40 100' ]; do sleep 0.1; done; echo be''gun\n");
      await shows(shell, /begun/);
      const place = { cluster: platform.kube, namespace, name: pod, container: "main" };
      const session = await listed();
      expect(session).toMatchObject({ kind: "kube", user: "ada", login: "", server_name: "kube-1", pod: place, modes: ["observer"] });
      const { sid } = session;
      expect((await platform.cluster.tctl(["sessions", "ls"])).stdout).toMatch(
        new RegExp(`${sid} +kube +${platform.kube}/${namespace}/${pod} +ada `),
      );
      await using watching = holdSession(watcher, ["kube", "join", sid]);
      await watching.until("begun");
      await told(watching, `you joined the session of ada, ${platform.kube}/${namespace}/${pod}, as observer; its terminal has 100x40 characters`);
      await shows(shell, /platform: user bob joined as observer/);
      await using helping = holdSession(helper, ["join", "--mode=peer", sid]);
      await told(watching, "user carol joined as peer");
      watching.type("echo from-b''ob\n");
      helping.type("echo from-ca''rol\n");
      await Promise.all([shows(shell, /from-carol/), watching.until("from-carol"), helping.until("from-carol")]);
      expect(shell.printed()).not.toMatch(/from-b'*ob/);
      // Each is judged by its own user's roles and locks, and the session goes on.
      await takeAway();
      expect(await helping.ended).not.toBe(0);
      expect(helping.told()).toContain(why);
      await shows(shell, /platform: user carol left/);
      shell.type(bye);
      await until("the shell has ended", () => shell.exited);
      expect(await watching.ended).toBe(0);
      expect(watching.told()).toContain("the session of ada has ended");
      const where = { sid, owner: "ada", kubernetes_cluster: platform.kube, kubernetes_pod_name: pod, kubernetes_container_name: "main" };
      await audited(platform.cluster, "session.join", { ...where, user: "bob", mode: "observer", code: "T2001I" });
      await audited(platform.cluster, "session.leave", { ...where, user: "carol", mode: "peer", code: "T2003I" });
      await audited(platform.cluster, "session.end", { sid, participants: ["ada", "bob", "carol"] });
      await until("it is listed no more", async () => !(await listSessions(watcher)).some((one) => one.sid === sid));
      const played = await until("it is played", async () => {
        const { stdout } = await user.user.tsh(["play", sid]);
        return stdout.includes("user carol left") ? stdout : undefined;
      });
      expect(shell.printed()).toContain(played);
    });
  });

  test("a terminal over a WebSocket is joined, the channels stay whole", async () => {
    const [{ host, port, prefix, ...tls }, listed] = await Promise.all([user.entrance(), next(user.user, "shell")]);
    const query = "command=sh&stdin=true&stdout=true&tty=true";
    const url = `wss://${host}:${port}${prefix}/api/v1/namespaces/${namespace}/pods/shell/exec?${query}`;
    const socket = new WebSocket(url, "v4.channel.k8s.io", tls);
    let shown = "";
    const channels = new Set<number | undefined>();
    socket
      .on("error", () => {})
      .on("message", (data: Buffer) => {
        channels.add(data[0]);
        if (data[0] === 1) shown += data.subarray(1).toString();
      });
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const sees = (words: string): Promise<boolean> => until(`the owner sees ${words}`, () => shown.includes(words));
    await sees("# ");
    const { sid } = await listed();
    await using peer = holdSession(user.user, ["join", "--mode=peer", sid]);
    await sees("platform: user ada joined as peer");
    peer.type("echo from-pe''er\n");
    await Promise.all([sees("from-peer"), peer.until("from-peer")]);
    // Both type at the same time.
    for (let turn = 0; turn < 20; turn += 1) {
      peer.type(`: p${turn}\n`);
      socket.send(Buffer.from(`\0: o${turn}\n`));
    }
    await Promise.all([sees(": p19"), sees(": o19")]);
    socket.send(Buffer.from("\0exit\n"));
    await closed;
    expect(await peer.ended).toBe(0);
    expect([...channels].every((channel) => channel === 1 || channel === 3)).toBe(true);
  });

  test("a forwarded connection ends with its pod, and kubectl reports it as it does without us", async () => {
    const ports = await freePorts(2);
    await using held = new AsyncDisposableStack();
    const admin = { ...user.env, KUBECONFIG: world.adminKubeconfig };
    const forwards = await Promise.all(
      [user.env, admin].map(async (env, at) => {
        const port = ports[at] ?? 0;
        const forwarding = held.use(startService(await kubectl("1.36"), ["-n", namespace, "port-forward", "dying", `${port}:8080`], { env }));
        await until("it listens", () => forwarding.printed().includes("Forwarding from"));
        const socket = connect(port, "127.0.0.1");
        socket.on("error", () => {}).resume();
        // A request that has not ended holds the connection.
        socket.write("GET /hello HTTP/1.1\r\n");
        await until("it is forwarded", () => forwarding.printed().includes("Handling connection"));
        return { port, forwarding, socket };
      }),
    );
    expect(forwards.map(({ socket }) => socket.closed)).toEqual([false, false]);
    const pod = `/api/v1/namespaces/${namespace}/pods/dying`;
    await world.api.must("DELETE", pod);
    await until("the pod is gone", async () => (await world.api.ask("GET", pod)).status === 404);
    await until("the connections are closed", () => forwards.every(({ socket }) => socket.closed), long ? 2_000 : 5_000);
    // kubectl reports it with the end of this connection or at the next one, and ends.
    await Promise.all(
      forwards.map(async ({ port, forwarding }) => {
        connect(port, "127.0.0.1")
          .on("error", () => {})
          .resume();
        await until("kubectl has ended", () => forwarding.exited);
        expect(forwarding.printed()).toMatch(
          new RegExp(`an error occurred forwarding ${port} -> 8080: error forwarding port 8080 to pod .*\\nerror: lost connection to pod\\n$`),
        );
      }),
    );
  });

  test("the client's end ends the request at the API server", async () => {
    const running = await started("1.32", ["exec", "shell", "--", "sh", "-c", "echo begun; sleep 600"]);
    await until("it runs", () => running.printed().includes("begun"));
    const held = (): Promise<number> => heldStreams(world, { namespace, subresource: "exec" });
    await until("the API server holds it alone", async () => (await held()) === 1, 5_000);
    await running.kill();
    await until("the API server holds no more of it", async () => (await held()) === 0, long ? 1_000 : 5_000);
  });

  test("the events of a command name the pod, and how it ended", async () => {
    await user.kubectl("1.20", ["-n", namespace, "exec", "shell", "--", "sh", "-c", "exit 3"]);
    const event = await audited(platform.cluster, "exec", ({ command }) => String(command).includes("exit 3"));
    const pod = {
      ...{ user: "ada", kubernetes_cluster: platform.kube, kubernetes_pod_namespace: namespace, kubernetes_pod_name: "shell" },
      ...{ kubernetes_container_name: "main", kubernetes_container_image: busyboxImage, kubernetes_node_name: "real" },
    };
    expect(event).toMatchObject(pod);
    const { sid } = event;
    expect(await audited(platform.cluster, "session.start", { sid })).toMatchObject({ ...pod, interactive: false });
    expect(await audited(platform.cluster, "session.end", { sid })).toMatchObject({ ...pod, exit_code: 3 });
  });

  test("a terminal is recorded, and tsh plays what it showed", async () => {
    // It tries a WebSocket first, which this API server refuses: that is a request, and not a session or a recording.
    await using shell = await openShell("1.36");
    const refused = await audited(platform.cluster, "kube.request", { response_code: 403, resource_name: "shell" });
    expect(refused).toMatchObject({ phase: "end", verb: "GET", kubernetes_verb: "exec", user: "ada" });
    shell.type("echo recor''ded; printf 'tw\\303\\266 \\033[1mbold\\033[0m\\n'; exit\n");
    await until("the shell has ended", () => shell.exited);
    expect(shell.printed()).toMatch(/recorded/);
    // Those of terminals before this one may be complete later than it.
    const sid = await until("it is recorded", () =>
      findPlayed(platform.cluster, { user: user.user, state: "complete", isIt: (text) => text === shell.printed() }),
    );
    const recordings = await listRecordings(platform.cluster);
    expect(recordings.map((one) => one.sid)).not.toContain(refused.sid);
    expect((await auditEvents(platform.cluster, "session.start")).map((one) => one.sid)).not.toContain(refused.sid);
    const recording = recordings.find((one) => one.sid === sid);
    expect(recording).toMatchObject({ user: "ada", kind: "kube", resource: platform.kube });
    expect(await audited(platform.cluster, "exec", { sid })).toMatchObject({ command: "sh", kubernetes_pod_name: "shell" });
    const played = await user.user.tsh(["play", sid]);
    expect(played).toMatchObject({ status: 0, stderr: "" });
    // Every byte: kubectl passes on what the terminal showed.
    expect(shell.printed()).toBe(played.stdout);
    expect(played.stdout).toContain("recorded\r\ntwö \u001b[1mbold\u001b[0m\r\n");
  });
});
