import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { forgetKubes } from "./kube-login.ts";
import { changeKubeconfig } from "./kubeconfig/kubeconfig-file.ts";
import { type KubeContext, loginEdit } from "./kubeconfig/own-entries.ts";

const kube = (name: string): KubeContext => ({
  ...{ cluster: "example.com", kube: name },
  ...{ server: { server: `https://proxy/v1/kube/${name}` }, user: { exec: { command: "/usr/bin/tsh" } } },
});

test("a logout that selects another context for kubectl names it; one that leaves the selection says nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-kube-login-"));
  const path = join(folder, "config");
  await writeFile(path, "contexts:\n- context: {cluster: x, user: y}\n  name: minikube\ncurrent-context: minikube\nkind: Config\n");
  const env = { KUBECONFIG: path };
  for (const name of ["prod", "staging", "test"]) await changeKubeconfig(path, (config) => loginEdit(config, [kube(name)], name));
  const again = (context: string) => [`The context ${context} is selected for kubectl again.`];
  expect(await forgetKubes(env, "example.com", ["prod"])).toEqual({ removed: ["prod"], notes: [] });
  expect(await forgetKubes(env, "example.com", ["test"])).toEqual({ removed: ["test"], notes: again("example.com-staging") });
  expect(await forgetKubes(env, "example.com")).toEqual({ removed: ["staging"], notes: again("minikube") });
  await writeFile(path, "kind: Config\n");
  await changeKubeconfig(path, (config) => loginEdit(config, [kube("prod")], "prod"));
  expect(await forgetKubes(env, "example.com")).toEqual({ removed: ["prod"], notes: ["No context is selected for kubectl now."] });
  await rm(folder, { recursive: true });
});
