import { once } from "node:events";
import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream";

export interface FolderServer extends AsyncDisposable {
  readonly port: number;
  /** Paths asked for so far, with their answers: `200 /keys/platform.asc`. */
  readonly asked: readonly string[];
}

/** Any web server: the files of `dir` over TLS, below `/packages/` as a proxy has them. */
export async function serveFolder(dir: string, address: string, certificate: { readonly cert: string; readonly key: string }): Promise<FolderServer> {
  const asked: string[] = [];
  const root = await realpath(dir);
  const server = createServer(certificate, (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "https://x").pathname);
    void find(root, path).then((file) => {
      asked.push(`${file === undefined ? 404 : 200} ${path}`);
      if (response.destroyed) return;
      if (file === undefined) return response.writeHead(404).end();
      response.writeHead(200, { "content-length": file.size });
      return request.method === "HEAD" ? response.end() : pipeline(createReadStream(file.path), response, () => {});
    });
  }).listen(0, address);
  server.on("tlsClientError", () => {});
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function find(root: string, path: string): Promise<{ path: string; size: number } | undefined> {
  if (!path.startsWith("/packages/")) return undefined;
  const file = await realpath(join(root, path.slice("/packages".length))).catch(() => undefined);
  if (file === undefined || !file.startsWith(`${root}/`)) return undefined;
  const about = await stat(file);
  return about.isFile() ? { path: file, size: about.size } : undefined;
}
