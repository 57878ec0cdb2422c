import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { memoryIo } from "../memory-io.ts";
import { runProgram } from "../run-program.ts";
import { platformProgram } from "./platform.ts";
import { ProcessState } from "./reload/process-state.ts";
import type { Services } from "./services.ts";

const unused = async (): Promise<never> => {
  throw new Error("a check starts nothing");
};
const services: Services = { control: unused, agent: unused, check: async () => [], checkDatabases: unused, sshCrypto: unused };
const config = "version: v3\nplatform:\n  data_dir: /var/lib/platform\n  proxy_server: proxy.test:443\nssh_service:\n  enabled: yes\n";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-check-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function check(...more: readonly string[]) {
  const io = memoryIo({ RUNTIME_DIRECTORY: folder });
  const status = await runProgram(platformProgram(services), ["start", "--check", ...more], io);
  return { status, out: io.out(), err: io.err() };
}

/** The main process of a service, which answers with its state. */
async function running(place: ConstructorParameters<typeof ProcessState>[2]): Promise<Disposable> {
  const facts = { ...new ProcessState(["ssh"], "main", place).facts(), pid: process.ppid };
  const server = createHttpServer((_request, response) => response.end(JSON.stringify(facts))).listen(join(folder, `status-${process.ppid}.sock`));
  await once(server, "listening");
  return { [Symbol.dispose]: () => server.close() };
}

test("a check names the service's own file, also where that is refused", async () => {
  const file = join(folder, "own.yaml");
  await writeFile(file, config);
  using _service = await running({ config: file });
  const note = `checking ${file}, with which the service runs (process ${process.ppid})\n`;
  expect(await check()).toEqual({ status: 0, out: `${file} would start: ssh\n`, err: note });
  await writeFile(file, `${config}ssh_servise:\n  enabled: yes\n`);
  expect(await check()).toEqual({ status: 2, out: "", err: expect.stringContaining(`${note}ERROR: `) });
});

test("a check of the default file warns where a process of the service does not answer", async () => {
  // One that listens no longer, or not yet.
  const path = join(folder, `status-${process.ppid}.sock`);
  const server = createServer().listen(`${path}.bound`);
  await once(server, "listening");
  await rename(`${path}.bound`, path);
  await new Promise((resolve) => server.close(resolve));
  const why = `process ${process.ppid} of the service did not answer within 10 s`;
  expect((await check()).err).toMatch(
    `warning: checking /etc/platform.yaml, the default: ${why}; if the service runs with another file, name it with --config\n`,
  );
});

test("a check of the default file says that the service does not run", async () => {
  expect((await check()).err).toMatch("checking /etc/platform.yaml, the default, as the service does not run\n");
  await rm(folder, { recursive: true });
  expect((await check()).err).toMatch("checking /etc/platform.yaml, the default, as the service does not run\n");
  await writeFile(folder, "");
  expect((await check()).err).toMatch("warning: checking /etc/platform.yaml, the default: this user may not read the service's runtime directory; ");
});

test("a check of a service of an earlier version, and of a file that is named", async () => {
  const file = join(folder, "named.yaml");
  await writeFile(file, config);
  using _service = await running({});
  expect((await check()).err).toMatch(
    `warning: checking /etc/platform.yaml, the default: process ${process.ppid} of the service, of an earlier version, `,
  );
  expect(await check("--config", file)).toEqual({ status: 0, out: `${file} would start: ssh\n`, err: "" });
});
