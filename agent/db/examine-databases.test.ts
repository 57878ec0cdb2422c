import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { examineDatabases } from "./examine-databases.ts";

const configured = (name: string, port: number, more: object = {}) => ({
  ...{ name, protocol: "redis" as const, uri: `127.0.0.1:${port}`, static_labels: {} },
  ...more,
});

test("each database is checked once: one that nobody serves, one without TLS, and a file of authorities that is not there", async () => {
  const plain = createServer((socket) => socket.on("error", () => {}).end("-ERR plain\r\n")).listen(0, "127.0.0.1");
  await once(plain, "listening");
  const { port } = plain.address() as AddressInfo;
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const closed = (gone.address() as AddressInfo).port;
  gone.close();
  const tls = { mode: "verify-full" as const, trust_system_cert_pool: false, ca_cert_file: "/nowhere/ca.pem" };
  const checked = await examineDatabases([configured("down", closed), configured("plain", port), configured("unread", port, { tls })], []);
  plain.close();
  expect(checked.map(({ name }) => name)).toEqual(["down", "plain", "unread"]);
  expect(checked[0]?.fault).toMatch(/refused/);
  expect(checked[1]?.fault).toBeDefined();
  expect(checked[2]?.fault).toMatch(/could not read tls.ca_cert_file of database unread/);
});
