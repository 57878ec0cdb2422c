import { writeFileSync } from "node:fs";
import { allResources, KubePlatform } from "./kube-platform.ts";
import { kubeWorld } from "./kube-world.ts";

const world = await kubeWorld();
const p = await KubePlatform.open(world);
const u = await p.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
writeFileSync(
  "/tmp/dev.env",
  Object.entries(u.env)
    .map(([k, v]) => `export ${k}=${v}\n`)
    .join("") + `export ADMINKC=${world.adminKubeconfig}\nexport NS=${await world.namespace("real")}\nexport CDIR=${p.cluster.dir}\n`,
);
const { startShellPod } = await import("./shell-pod.ts"); const ns2 = await world.namespace("real"); await startShellPod(world, ns2, "shell"); writeFileSync("/tmp/dev.ns", `export NS2=${ns2}\n`); console.log("up");
setInterval(() => {
  writeFileSync("/tmp/dev.control", p.cluster.control.printed());
  writeFileSync("/tmp/dev.agent", p.agents[0]!.service.printed());
}, 500);
process.on("SIGTERM", async () => {
  await p[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
  process.exit(0);
});
