import { expect, test } from "vitest";
import { internalKubeName, isKubeServerName, kubePathPrefix, kubeServerName } from "./kube-names.ts";

test.for([
  ["proxy.example.com", "kube-platform-proxy-alpn.proxy.example.com"],
  ["Proxy.Example.com.", "kube-platform-proxy-alpn.proxy.example.com"],
  ["localhost", internalKubeName],
  ["10.1.2.3", internalKubeName],
  ["::1", internalKubeName],
] as const)("%s → %s", ([host, name]) => {
  expect(kubeServerName(host)).toBe(name);
  expect(isKubeServerName(name)).toBe(true);
});

test("other names are not for Kubernetes", () => {
  for (const name of [undefined, "", "proxy.example.com", "x.kube-platform-proxy-alpn.proxy.example.com"]) expect(isKubeServerName(name)).toBe(false);
});

test("the path holds both names in base64url without padding", () => {
  expect(kubePathPrefix("e2e.test", "a/b?é")).toBe("/v1/kube/ZTJlLnRlc3Q/YS9iP8Op");
});
