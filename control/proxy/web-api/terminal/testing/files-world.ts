import { readdir } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import type { WebSocket } from "ws";
import { startTestCluster, type TestCluster } from "../../../../../test/inside/open-cluster.ts";
import { type SshHost, startSshHost } from "../../../../../test/inside/ssh-host.ts";
import { openBrowser, type WebBrowser } from "../../../../../test/inside/web-browser.ts";
import { openUpload } from "../../../../../test/inside/web-upload.ts";

/** A cluster with one host, whose files browsers reach as the user that the tests run as. */
export interface FilesWorld extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly host: SshHost;
  /** Of the role `files`; there are `no-files`, which forbids copies, and `nobody`, which allows nothing. */
  readonly alice: WebBrowser;
  inHome(name: string): string;
  place(): { readonly node: string; readonly login: string };
  /** Query of a request for a file, by its path or by the bytes of it. */
  queryOf(asked: string | { readonly bytes: string }): string;
  /** Parts of uploads in the home. */
  left(): Promise<string[]>;
  /** Uploads it to the home; the last notice. `more` replaces fields of the request. */
  upload(name: string, bytes: Buffer, more?: object, browser?: WebBrowser): Promise<Record<string, unknown> | undefined>;
}

/** Sends all bytes once an upload is ready. */
export const sendAll =
  (bytes: Buffer) =>
  (socket: WebSocket): void => {
    for (let at = 0; at < bytes.length; at += 65_536) socket.send(bytes.subarray(at, at + 65_536));
  };

export async function openFilesWorld(): Promise<FilesWorld> {
  const login = userInfo().username;
  const cluster = await startTestCluster();
  const allow = { logins: [login], node_labels: { "*": "*" } };
  await cluster.putRole("files", { allow });
  await cluster.putRole("no-files", { allow, options: { ssh_file_copy: false } });
  await cluster.putRole("nobody", {});
  const host = await startSshHost(cluster, "web-1");
  const alice = await openBrowser(cluster, "alice", ["files"]);
  const place = () => ({ node: host.agent.id, login });
  return {
    cluster,
    host,
    alice,
    place,
    inHome: (name) => join(host.home, name),
    queryOf: (asked) => new URLSearchParams({ ...place(), ...(typeof asked === "string" ? { path: asked } : asked) }).toString(),
    left: async () => (await readdir(host.home)).filter((name) => name.startsWith(".platform-upload-")),
    upload: async (name, bytes, more = {}, browser = alice) => {
      const ask = { ...place(), folder: "", name, size: bytes.length, replace: false, ...more };
      return await (await openUpload(cluster, browser, { ask, ready: sendAll(bytes) })).closed;
    },
    [Symbol.asyncDispose]: async () => {
      await host[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}
