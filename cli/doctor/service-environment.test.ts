import { expect, test } from "vitest";
import { serviceEnvironment } from "./service-environment.ts";

const path = "/etc/default/platform";
const secret = "http://agent:hunter2@proxy.corp:3128";

test("the service's own variables count, whatever this shell says, and no value is shown", () => {
  const env = { HTTPS_PROXY: "http://other:1", no_proxy: "*", PATH: "/bin" };
  const { says, value, warning } = serviceEnvironment(env, { path, text: `HTTPS_PROXY="${secret}"\nNO_PROXY=.corp\n` });
  expect(value).toEqual({ PATH: "/bin", HTTPS_PROXY: secret, NO_PROXY: ".corp" });
  expect(says).toBe(`HTTPS_PROXY, NO_PROXY as ${path} sets them`);
  expect(warning).toBeUndefined();
});

test.for([[undefined], [""], ["# nothing\nHTTPS_PROXY=\n"]])("with the file %j this shell's variables count, and the file lacks them", ([text]) => {
  const { says, value, warning } = serviceEnvironment({ HTTPS_PROXY: secret }, { path, text });
  expect(value.HTTPS_PROXY).toBe(secret);
  expect(says).not.toContain("hunter2");
  expect(warning).toContain(path);
});

test("a line that systemd leaves out does not count, and is named", () => {
  const { says, value, warning } = serviceEnvironment({}, { path, text: `# ours\nexport HTTPS_PROXY="${secret}"\n` });
  expect([says, value]).toEqual([`no proxy is set in ${path} or in this shell`, {}]);
  expect(warning).toBe(`systemd ignores line 2 of ${path} (export HTTPS_PROXY): remove the word export`);
});

test("a password that every user of the host may read is minded", () => {
  const at = (url: string, isOpenToAll: boolean) => serviceEnvironment({}, { path, text: `HTTPS_PROXY=${url}\n`, isOpenToAll }).warning;
  expect(at(secret, true)).toContain(`chmod 600 ${path}`);
  expect([at(secret, false), at("http://proxy.corp:3128", true)]).toEqual([undefined, undefined]);
});

test("a host without any proxy is not a fault", () => {
  expect(serviceEnvironment({}, { path, text: undefined })).toEqual({
    says: `no proxy is set in ${path} or in this shell`,
    value: {},
    warning: undefined,
  });
});

test("a file that this user may not read is named: the service may have a proxy that is not seen here", () => {
  const { says, value, warning } = serviceEnvironment({ PATH: "/bin" }, { path, text: undefined, isDenied: true });
  expect([says, value]).toEqual(["no proxy is set in this shell", { PATH: "/bin" }]);
  expect(warning).toBe(`this user may not read ${path}, where the service's proxy is set if it has one: run as root`);
});
