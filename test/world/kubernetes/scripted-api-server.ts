import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../http-proxy/make-certificate.ts";
import { writeKubeconfig } from "./kubeconfig.ts";

/** What the server does with requests outside discovery. */
export interface Script {
  request(request: IncomingMessage, response: ServerResponse): void;
  upgrade?(request: IncomingMessage, socket: Socket): void;
}

export interface ScriptedApiServer extends AsyncDisposable {
  readonly port: number;
  agentKubeconfig(context?: string): Promise<string>;
}

const pods = {
  ...{ kind: "APIResourceList", apiVersion: "v1", groupVersion: "v1" },
  resources: ["pods", "pods/exec", "pods/log"].map((name) => ({
    name,
    singularName: "",
    namespaced: true,
    kind: "Pod",
    verbs: ["get", "list", "watch", "create"],
  })),
};
const discovery: Readonly<Record<string, object>> = {
  "/version": { major: "1", minor: "30", gitVersion: "v1.30.0" },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  "/api/v1": pods,
};

/** An API server that behaves as a test wants: it has pods, allows the agent everything, and is hostile where the script says so. */
export async function startScriptedApiServer(script: Script): Promise<ScriptedApiServer> {
  const dir = await mkdtemp(join(tmpdir(), "platform-kube-scripted-"));
  const { cert, key, caPem } = await makeCertificate(dir, ["127.0.0.1"]);
  const server = createServer({ cert, key }, (request, response) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    const known = request.url?.includes("selfsubjectaccessreviews") ? { status: { allowed: true } } : discovery[path];
    if (known === undefined) script.request(request, response);
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(known));
  });
  server.on("upgrade", (request, socket: Socket) => {
    socket.on("error", () => {});
    if (script.upgrade) script.upgrade(request, socket);
    else socket.destroy();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    agentKubeconfig: async (context = "direct") =>
      writeKubeconfig(
        join(dir, `${context}.kubeconfig`),
        { server: `https://127.0.0.1:${port}`, ca: caPem, user: { token: "token-of-the-agent" } },
        context,
      ),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
