import { EventEmitter, once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { serviceDeps } from "../../test/inside/service-deps.ts";
import { prepareKube } from "./kube-service.ts";

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:1" } }]
users: [{ name: u, user: { token: t } }]
contexts: [{ name: prod, context: { cluster: c, user: u } }, { name: dev, context: { cluster: c, user: u } }]
`;

test("a command's output is a label of each cluster of the configuration, and a changed one is offered again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-kube-labels-"));
  const over = new AbortController();
  try {
    const [file, value] = [join(folder, "kubeconfig"), join(folder, "value")];
    await writeFile(file, kubeconfig);
    await writeFile(value, "1.20\n");
    const commands = [
      { name: "version", command: ["cat", value], period: 1 },
      { name: "broken", command: ["false"], period: 60 },
    ];
    const service = await prepareKube({ kubeconfigFile: file, labels: { env: "prod" }, commands, matchers: [] }, {});
    const authorities = await insideAuthorities();
    const { deps } = serviceDeps({ authorities, credentials: await authorities.host("kube-1"), node: { name: "kube-1", labels: {} } });
    const { offered } = await service.open(deps, over.signal);
    const labels = () => offered?.current().map(({ name, labels: current }) => [name, current]);
    expect(labels()).toEqual([
      ["prod", { env: "prod", version: "1.20" }],
      ["dev", { env: "prod", version: "1.20" }],
    ]);
    const news = new EventEmitter();
    offered?.onChange(() => {
      if (offered.current()[0]?.labels.version === "1.21") news.emit("label");
    });
    await writeFile(`${value}.new`, "1.21\n");
    const changed = once(news, "label", { signal: AbortSignal.timeout(20_000) });
    await rename(`${value}.new`, value);
    await changed;
    expect(labels()).toEqual([
      ["prod", { env: "prod", version: "1.21" }],
      ["dev", { env: "prod", version: "1.21" }],
    ]);
  } finally {
    over.abort();
    await rm(folder, { recursive: true });
  }
});
