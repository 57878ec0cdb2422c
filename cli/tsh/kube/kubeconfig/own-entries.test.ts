import { expect, test } from "vitest";
import { editKubeconfig } from "./edit-kubeconfig.ts";
import { type KubeContext, loginEdit, logoutEdit, ownContexts } from "./own-entries.ts";
import { parseKubeconfig } from "./parse-kubeconfig.ts";

const foreign = `# mine
apiVersion: v1
clusters:
- name: example.com-prod-eu # of another tool
  cluster:
    server: https://eu
users:
- name: eu
  user: {}
contexts:
- context: {cluster: example.com-prod-eu, user: eu}
  name: example.com-prod-eu
- context:
    cluster: x
    user: y
  name: minikube
current-context: minikube
kind: Config
`;

const kube = (name: string, more: Partial<KubeContext> = {}): KubeContext => ({
  cluster: "example.com",
  kube: name,
  server: { server: `https://proxy/v1/kube/${name}` },
  user: { exec: { command: "/usr/bin/tsh" } },
  ...more,
});
const config = (text: string) => parseKubeconfig(text, "f").config;
const login = (text: string, wanted: readonly KubeContext[], select?: string): string =>
  editKubeconfig(text, loginEdit(config(text), wanted, select), "f");
const logout = (text: string, kubes?: readonly string[], cluster = "example.com"): string =>
  editKubeconfig(text, logoutEdit(config(text), cluster, kubes), "f");

test("logins, in any order of logouts, leave the file as it was; a name that begins alike stays", () => {
  const two = login(login(foreign, [kube("prod")], "prod"), [kube("test")], "test");
  expect(config(two).currentContext).toBe("example.com-test");
  expect(ownContexts(config(two)).map(({ kube: name, isSelected }) => [name, isSelected])).toEqual([
    ["prod", false],
    ["test", true],
  ]);
  expect(logout(logout(two, ["test"]), ["prod"])).toBe(foreign);
  expect(logout(logout(two, ["prod"]), ["test"])).toBe(foreign);
  expect(logout(two)).toBe(foreign);
  expect(logout(two, undefined, "other.com")).toBe(two);
});

test("the context that was selected before comes back only where ours is still selected, and only if it is still there", () => {
  const one = login(foreign, [kube("prod")], "prod");
  expect(logout(one.replace("current-context: example.com-prod", "current-context: example.com-prod-eu"))).toBe(
    foreign.replace("current-context: minikube", "current-context: example.com-prod-eu"),
  );
  const without = one.replace("  name: minikube", "  name: other");
  expect(config(logout(without)).currentContext).toBe("");
});

test("a second login changes nothing; a context keeps its namespace unless another one is given, and its place", () => {
  const one = login(foreign, [kube("prod", { namespace: "shop" })], "prod");
  expect(login(one, [kube("prod")], "prod")).toBe(one);
  const many = login(one, [kube("a"), kube("b"), kube("prod", { namespace: "web" })]);
  expect(ownContexts(config(many)).map(({ context, namespace }) => [context, namespace])).toEqual([
    ["example.com-prod", "web"],
    ["example.com-a", undefined],
    ["example.com-b", undefined],
  ]);
  expect(config(many).currentContext).toBe("example.com-prod");
  expect(logout(many)).toBe(foreign);
});

test("a context gets a name of its own, and the old one goes", () => {
  const one = login(login(foreign, [kube("prod")], "prod"), [kube("prod", { name: "p" })]);
  expect(config(one).contexts.map(({ name }) => name)).toEqual(["example.com-prod-eu", "minikube", "p"]);
  expect(config(one).currentContext).toBe("p");
  expect(logout(one)).toBe(foreign);
});

test("entries of others are never replaced", () => {
  for (const list of ["clusters", "users", "contexts"]) {
    const taken = `${list}:\n- name: example.com-prod\n`;
    expect(() => login(taken, [kube("prod")])).toThrow(expect.objectContaining({ code: "conflict", message: expect.stringContaining(list) }));
  }
  expect(() => login(foreign, [kube("prod", { name: "minikube" })])).toThrow(expect.objectContaining({ code: "conflict" }));
  expect(() => login(foreign, [kube("a", { name: "same" }), kube("b", { name: "same" })])).toThrow(expect.objectContaining({ code: "conflict" }));
});
