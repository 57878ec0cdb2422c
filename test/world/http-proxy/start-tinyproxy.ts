import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startService } from "../service.ts";
import { until } from "../until.ts";
import { type ProxyOptions, proxyUrl } from "./proxy-options.ts";

export interface TinyproxyOptions extends ProxyOptions {
  readonly port?: number;
}

export interface Tinyproxy extends AsyncDisposable {
  /** With the credentials in it. */
  readonly httpUrl: string;
  /** Output so far, with one line per request. */
  accessLog(): Promise<string>;
  stop(): Promise<void>;
}

/** The real tinyproxy with basic authentication, which answers 401 where 407 is meant; ready when this resolves. */
export async function startTinyproxy(options: TinyproxyOptions): Promise<Tinyproxy> {
  const { address, port = 8888, user = "agent", password = "s3cret-word" } = options;
  const dir = await mkdtemp(join(tmpdir(), "platform-tinyproxy-"));
  const config = join(dir, "tinyproxy.conf");
  await writeFile(config, `Port ${port}\nListen ${address}\nTimeout 600\nMaxClients 50\nBasicAuth ${user} ${password}\nLogLevel Info\n`, {
    mode: 0o600,
  });
  const service = startService("tinyproxy", ["-d", "-c", config], { netns: options.netns });
  const stop = async (): Promise<void> => {
    await service.stop();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await until("tinyproxy listens", () => service.exited || /Accepting connections/.test(service.printed()));
    if (service.exited) throw new Error(`tinyproxy did not start: ${service.printed()}`);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return {
    httpUrl: proxyUrl("http", { user, password }, `${address}:${port}`),
    accessLog: () => Promise.resolve(service.printed()),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
