import { createHash, randomBytes } from "node:crypto";
import type { Page, WebSocket } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import type { User } from "../world/cluster-user.ts";
import { hasProgram } from "../world/has-program.ts";
import { holdSession } from "../world/held-session.ts";
import { busyboxImage } from "../world/kubernetes/busybox-image.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { KubePlatform } from "../world/kubernetes/kube-platform.ts";
import { kubectl } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { listSessions } from "../world/owned-session.ts";
import { putRole } from "../world/put-role.ts";
import { startService } from "../world/service.ts";
import { openAsked, type TerminalScreen, terminalQuestion, terminalScreen } from "../world/terminal-page.ts";
import { faultsEverywhere, faultsOf, openUiPage, type UiPage } from "../world/ui-page.ts";
import { until } from "../world/until.ts";

const { title: question, seenMs } = terminalQuestion;

if (hasProgram("chromium")) {
  await describeKube("shells of pods in the Web UI", (world) => {
    let platform: KubePlatform;
    let namespace: string;
    let ui: UiPage;
    let page: Page;
    let screen: TerminalScreen;
    let watcher: User;
    let cyd: User;
    let site: string;
    let pods: string;

    /** A group that may create programs in containers, and not get them: its shells come over SPDY. */
    const creators = `creators-${process.pid}`;
    async function letCreate(): Promise<void> {
      const rules = [{ apiGroups: [""], resources: ["pods/exec"], verbs: ["create"] }];
      await world.api.must("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name: creators }, rules });
      await world.grant(creators, creators);
    }

    beforeAll(async () => {
      [platform, namespace, ui] = await Promise.all([KubePlatform.open(world), world.namespace("real"), openUiPage()]);
      const { cluster, kube } = platform;
      const lends = { kubernetes_labels: { env: "test" }, kubernetes_groups: ["system:masters"] };
      const rule = { kind: "pod", namespace, name: "*" };
      await Promise.all([
        startShellPod(world, namespace, "shell"),
        startShellPod(world, namespace, "dying"),
        putRole(cluster, "ada", {
          allow: {
            ...{ ...lends, kubernetes_resources: [{ ...rule, verbs: ["get", "list", "exec"] }] },
            join_sessions: [{ name: "kit", kinds: ["k8s"], roles: ["role-of-kit"], modes: ["observer", "peer"] }],
          },
        }),
        putRole(cluster, "ben", {
          allow: { ...lends, kubernetes_groups: [creators], kubernetes_resources: [{ ...rule, name: "shell", verbs: ["exec"] }] },
        }),
        putRole(cluster, "cyd", {
          options: { require_session_mfa: true },
          allow: { ...lends, kubernetes_resources: [{ ...rule, verbs: ["get", "list", "exec"] }] },
        }),
        letCreate(),
        putRole(cluster, "watcher", { allow: { join_sessions: [{ name: "all", kinds: ["k8s"], roles: ["*"], modes: ["*"] }] } }),
      ]);
      watcher = await cluster.user("wanda", { roles: "watcher" });
      // Long before its codes are used, so that none is waited for.
      cyd = await cluster.user("cyd", { roles: "cyd", noLogin: true });
      await until("the cluster is offered", async () => (await cluster.admin("kube", "ls")).includes(kube));
      site = `https://${cluster.proxy}`;
      pods = `${site}/web/kubernetes/${kube}`;
      page = ui.page;
      screen = terminalScreen(page, ui.context);
      page.on("dialog", (dialog) => void dialog.accept());
      await logIn("ada");
    });
    afterAll(async () => {
      await ui?.[Symbol.asyncDispose]();
      await platform?.[Symbol.asyncDispose]();
    });

    async function logIn(name: string, address = `${site}/web/kubernetes`, title = "Kubernetes"): Promise<void> {
      const user = await platform.cluster.user(name, { roles: name, noLogin: true });
      await ui.logIn(address, { user: name, password: user.password, code: await user.code() }, title);
    }

    const terminalOf = (pod: string, more = ""): string => `${site}/web/terminal?cluster=${platform.kube}&namespace=${namespace}&pod=${pod}${more}`;
    const ended = async (words: RegExp): Promise<void> => await page.getByRole("alert").filter({ hasText: words }).waitFor();

    /** A shell in this page, without a prompt of its own. */
    async function openShell(pod: string): Promise<void> {
      await page.goto(terminalOf(pod));
      await openAsked(page);
      await page.getByRole("heading", { level: 1, name: `${namespace}/${pod}` }).waitFor();
      await screen.line("PS1='' PS2=''; stty -echo; clear; echo re''ady");
      await expect.poll(screen.shown, { timeout: 15_000 }).toMatch(/^ready/);
    }

    test("a cluster leads to the pods that the user may list, and one of them to a shell in a page of its own", async () => {
      await page.getByRole("link", { name: `Pods of ${platform.kube}` }).click();
      await page.getByRole("button", { name: "dying" }).waitFor();
      // Those of other namespaces are left out by the agent.
      expect(await page.getByRole("rowheader").allTextContents()).toEqual(["dying", "shell"]);
      expect(await faultsEverywhere(page)).toEqual([]);
      await page.getByRole("button", { name: "shell" }).click();
      expect(await faultsOf(page)).toEqual([]);
      // The user has asked for it here: the page asks only when it is loaded again.
      await page.getByLabel("Program").fill("cat");
      const [opened] = await Promise.all([ui.context.waitForEvent("page"), page.getByRole("button", { name: "Open in the browser" }).click()]);
      opened.on("dialog", (dialog) => void dialog.accept());
      await opened.getByRole("heading", { level: 1, name: `${namespace}/shell` }).waitFor();
      await opened.reload();
      await opened.getByRole("heading", { level: 1, name: question }).waitFor();
      await opened.close();
      await audited(platform.cluster, "kube.request", { user: "ada", kubernetes_verb: "list", resource_kind: "pods" });
    });

    test("it is a terminal: any script, sizes, a megabyte from the clipboard, and the status at its end", async () => {
      await openShell("shell");
      await screen.line("echo grüß 漢字");
      await expect.poll(screen.shown).toContain("grüß 漢字");
      await page.setViewportSize({ width: 900, height: 600 });
      await screen.line("stty size >/tmp/a; while sleep 0.2; do stty size | cmp -s - /tmp/a || break; done; echo an''other");
      await page.setViewportSize({ width: 1280, height: 800 });
      await expect.poll(screen.shown, { timeout: 10_000 }).toContain("another");
      const pasted = randomBytes(768 * 1024).toString("base64");
      await screen.line("clear; stty raw; echo g''o; head -c 1048576 | sha256sum >/tmp/sum; stty cooked; cat /tmp/sum");
      await expect.poll(screen.shown).toContain("go");
      await page.evaluate(`{
        const data = new DataTransfer();
        data.setData("text/plain", "${pasted}");
        document.activeElement?.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
      }`);
      await expect.poll(screen.shown, { timeout: 60_000 }).toContain(createHash("sha256").update(pasted).digest("hex"));
      await screen.line("stty sane; exit 7");
      await ended(/ended with status 7/);
    });

    test("a terminal of kubectl is joined in the browser, to watch it and to take part", async () => {
      const rules = [{ kind: "pod", namespace, name: "shell", verbs: ["get", "exec"] }];
      const kit = await platform.user("kit", { kubernetes_groups: ["system:masters"], kubernetes_resources: rules });
      const line = `exec ${await kubectl("1.20")} -n ${namespace} exec -it shell -- sh`;
      const env = { ...kit.env, TERM: "xterm", SHELL: "/bin/sh" };
      await using shell = startService("script", ["--quiet", "--flush", "--return", "--command", line, "/dev/null"], { env });
      const shows = async (words: string): Promise<void> => await expect.poll(() => shell.printed(), { timeout: 15_000 }).toContain(words);
      await shows("# ");
      for (const [button, typed] of [
        ["Watch in the browser", "watched"],
        ["Take part in the browser", "joined"],
      ] as const) {
        await page.goto(`${site}/web/sessions`);
        await page.getByRole("button", { name: `${namespace}/shell` }).click();
        const [opened] = await Promise.all([ui.context.waitForEvent("page"), page.getByRole("button", { name: button }).click()]);
        opened.on("dialog", (dialog) => void dialog.accept());
        const joined = terminalScreen(opened, ui.context);
        await shows(`platform: user ada joined as ${typed === "joined" ? "peer" : "observer"}`);
        shell.type(`echo from ki''t ${typed}\n`);
        await expect.poll(joined.shown, { timeout: 15_000 }).toContain(`from kit ${typed}`);
        await joined.line(`echo from ad''a ${typed}`);
        if (typed === "joined") await Promise.all([shows("from ada joined"), expect.poll(joined.shown).toContain("from ada joined")]);
        expect(await faultsOf(opened)).toEqual([]);
        if (typed === "watched") await opened.close();
        else {
          shell.type("exit\n");
          await opened
            .getByRole("alert")
            .filter({ hasText: /session of kit has ended|ended/ })
            .waitFor();
          await opened.close();
        }
      }
      expect(shell.printed()).not.toContain("from ada watched");
      await audited(platform.cluster, "session.join", { user: "ada", owner: "kit", mode: "peer", kubernetes_pod_name: "shell" });
    });

    test("it is a session as one of kubectl: listed, joined, audited, recorded, and ended by a lock with its words", async () => {
      const { cluster, kube } = platform;
      await openShell("shell");
      const { sid } = await until("it is listed", async () => (await listSessions(watcher)).find((one) => one.pod?.name === "shell"));
      await using peer = holdSession(watcher, ["kube", "join", "--mode=peer", sid]);
      await expect.poll(screen.shown, { timeout: 10_000 }).toContain("user wanda joined as peer");
      peer.type("echo from-the-pe''er\n");
      await expect.poll(screen.shown).toContain("from-the-peer");
      const lock = await cluster.admin("lock", "--user=ada", "--message=not today");
      await ended(/not today/);
      expect(await peer.ended).toBe(0);
      const where = { sid, user: "ada", kubernetes_cluster: kube, kubernetes_pod_name: "shell", kubernetes_container_image: busyboxImage };
      expect(await audited(cluster, "session.start", where)).toMatchObject({ interactive: true, "addr.remote": expect.stringMatching(/:\d+$/) });
      await audited(cluster, "session.end", { sid, participants: ["ada", "wanda"] });
      await until("it is recorded", async () => (await listRecordings(cluster)).find((one) => one.sid === sid && one.kind === "kube"));
      const [, name = ""] = /([0-9a-f-]{36})/.exec(lock) ?? [];
      await cluster.admin("rm", `lock/${name}`);
    });

    test("an address that names a command runs nothing: it shows the command, and asks", async () => {
      const sockets: string[] = [];
      const note = (socket: WebSocket): unknown => sockets.push(socket.url());
      page.on("websocket", note);
      const starts = async () => (await auditEvents(platform.cluster, "session.start")).filter((one) => one.kubernetes_pod_name === "dying");
      const program = `sh -c 'echo ran >>/tmp/ran; wc -l /tmp/ran' ${"long".repeat(200)}`;
      const address = terminalOf("dying", `&command=${encodeURIComponent(`${program} a\u202eb`)}`);
      await page.goto(address);
      await ui.heading(question).waitFor();
      expect(await faultsEverywhere(page)).toEqual([]);
      const shown = [platform.kube, namespace, "dying", "the only one", `${program} $'a\\u202eb'`];
      expect(await page.locator("dd").allTextContents()).toEqual(shown);
      await page.getByRole("link", { name: "Cancel" }).click();
      await ui.heading(`Pods of ${platform.kube}`).waitFor();
      await page.goto(address);
      await ui.heading(question).waitFor();
      expect(await page.evaluate("document.activeElement.textContent")).toBe(question);
      await page.keyboard.press("Enter");
      // The page comes to the front just when the user clicks.
      await page.evaluate(`dispatchEvent(new Event("focus")); document.querySelector("button.primary").click()`);
      await page.getByRole("status").filter({ hasText: "press Open again" }).waitFor();
      expect(await faultsEverywhere(page)).toEqual([]);
      expect(sockets).toEqual([]);
      expect(await starts()).toEqual([]);
      await page.waitForTimeout(seenMs);
      for (const key of ["Tab", "Tab", "Enter"]) await page.keyboard.press(key);
      await ended(/The session ended\./);
      expect(await screen.shown()).toMatch(/^1 \/tmp\/ran/);
      await audited(platform.cluster, "session.start", { user: "ada", kubernetes_pod_name: "dying" });
      await page.reload();
      await ui.heading(question).waitFor();
      expect(sockets).toHaveLength(1);
      expect(await starts()).toHaveLength(1);
      page.off("websocket", note);
    });

    test("a program that is not there, and a pod that goes, end it with words", async () => {
      await page.goto(terminalOf("shell", "&command=/no/such+program"));
      await openAsked(page);
      await ended(/does not have this program/);
      await page.goto(terminalOf("shell", "&container=other"));
      await openAsked(page);
      await ended(/other/);
      await openShell("dying");
      await world.api.must("DELETE", `/api/v1/namespaces/${namespace}/pods/dying`);
      await ended(/was killed|was lost/);
      await page.getByRole("button", { name: "Open a new session" }).click();
      await ended(/not found/);
    });

    test("where a role demands a code for each session, one opens the cluster's pods and the shells of its page", async () => {
      await ui.context.clearCookies();
      await ui.logIn(`${site}/web/kubernetes`, { user: "cyd", password: cyd.password, code: await cyd.code() }, "Kubernetes");
      await page.goto(pods);
      const reason = `Kubernetes cluster ${platform.kube} needs a one-time code for each session (role cyd, require_session_mfa).`;
      await page.getByRole("dialog", { name: "Enter code" }).getByText(reason).waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(async () => await page.evaluate("document.activeElement?.textContent")).toBe("Enter code");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "Enter code" }).waitFor();
      await page.keyboard.type(await cyd.code());
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "shell" }).click();
      const [opened] = await Promise.all([ui.context.waitForEvent("page"), page.getByRole("button", { name: "Open in the browser" }).click()]);
      opened.on("dialog", (dialog) => void dialog.accept());
      await opened.getByRole("heading", { level: 1, name: `${namespace}/shell` }).waitFor();
      await audited(platform.cluster, "session.start", { user: "cyd", with_mfa: "otp" });
      // Another page of the cluster has confirmed nothing, and nor has a shell once no page of it is open.
      await opened.close();
      await page.goto(terminalOf("shell"));
      await openAsked(page);
      await page.getByRole("dialog", { name: "Enter code" }).getByText(reason).waitFor();
    });

    test("a user who may not list pods reads why, and opens a shell by its name", async () => {
      await ui.context.clearCookies();
      // A login that such an address leads to is not an answer, either.
      await logIn("ben", terminalOf("shell", "&command=id"), question);
      await page.goto(pods);
      await page.getByRole("alert").filter({ hasText: /list/ }).waitFor();
      expect(await faultsEverywhere(page)).toEqual([]);
      const form = page.locator("section");
      await form.getByLabel("Namespace").fill(namespace);
      await form.getByLabel("Pod").fill("shell");
      const [opened] = await Promise.all([ui.context.waitForEvent("page"), form.getByRole("button", { name: "Open in the browser" }).click()]);
      await opened.getByRole("heading", { level: 1, name: `${namespace}/shell` }).waitFor();
      const shell = terminalScreen(opened, ui.context);
      await shell.line("stty size; echo ov''er");
      await expect.poll(shell.shown, { timeout: 10_000 }).toMatch(/\d{2} \d{2,3}\s+over/);
      await shell.line("exit 3");
      await opened
        .getByRole("alert")
        .filter({ hasText: /ended with status 3/ })
        .waitFor();
      await opened.goto(terminalOf("dying"));
      await openAsked(opened);
      await opened
        .getByRole("alert")
        .filter({ hasText: /access denied/i })
        .waitFor();
      expect(ui.troubles).toEqual([]);
    });
  });
} else {
  test.runIf(false)("shells of pods in the Web UI (Chromium is not installed)", () => {});
}
