import { expect, test } from "vitest";
import { withoutCluster } from "../../core/identity/cluster-names.ts";
import { joinCommand, parseLabelTarget, parseSshTarget } from "./ssh-target.ts";

test.for([
  ["web-1", undefined, { login: undefined, host: "web-1", port: undefined }],
  ["root@web-1", undefined, { login: "root", host: "web-1", port: undefined }],
  ["root@web-1", "ubuntu", { login: "ubuntu", host: "web-1", port: undefined }],
  ["me@corp.example@web-1:22", undefined, { login: "me@corp.example", host: "web-1", port: 22 }],
  ["root@0b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77", undefined, { login: "root", host: "0b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77", port: undefined }],
] as const)("%s with -l %s", ([text, login, expected]) => {
  expect(parseSshTarget(text, login)).toEqual(expected);
});

test.for(["", "@web", "root@", "root@-oProxyCommand=x", "ro ot@web", "-x@web", "web:70000", "web\n", "we'b", "a/b"])("%j is refused", (text) => {
  expect(() => parseSshTarget(text)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("the words of a command are joined as ssh joins them", () => {
  expect(joinCommand(["echo", "a  b", "$HOME"])).toBe("echo a  b $HOME");
  expect(joinCommand([])).toBeUndefined();
});

test("a command that no packet holds is refused before anything is asked", () => {
  expect(joinCommand(["x".repeat(32_000)])).toHaveLength(32_000);
  expect(() => joinCommand(["ü".repeat(16_001)])).toThrow(/the command has 32002 bytes; the maximum is 32000/);
});

test.for([
  ["web.c", "c", "web"],
  ["web", "c", "web"],
  ["web.c.c", "c", "web.c"],
  [".c", "c", ".c"],
  ["web.c", undefined, "web.c"],
] as const)("%s in the cluster %s is %s", ([host, cluster, expected]) => {
  expect(withoutCluster(host, cluster)).toBe(expected);
});

test.for([
  ["web-1", undefined, undefined],
  ["root@web-1", undefined, undefined],
  ["root@env=staging", undefined, { login: "root", labels: { env: "staging" } }],
  ["env=staging,team=db", "ubuntu", { login: "ubuntu", labels: { env: "staging", team: "db" } }],
  ["me@corp@owner=a@b.example", undefined, { login: "me@corp", labels: { owner: "a@b.example" } }],
  ["root@example.com/zone=a=b", undefined, { login: "root", labels: { "example.com/zone": "a=b" } }],
  ["root@env=", undefined, { login: "root", labels: { env: "" } }],
] as const)("the labels of %s with -l %s", ([text, login, expected]) => {
  expect(parseLabelTarget(text, login)).toEqual(expected);
});

test.for(["root@=x", "=", "root@env=a,", "root@env=a,b", "root@env=a,env=b", "-o@env=a", "@env=a", "root@e nv=a", "root@-x=a"])(
  "labels in %j are refused",
  (text) => {
    expect(() => parseLabelTarget(text)).toThrow(expect.objectContaining({ code: "invalid" }));
  },
);
