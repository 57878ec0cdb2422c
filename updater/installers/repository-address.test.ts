import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { repositoryAddress } from "./repository-address.ts";

describe("the repository's address", () => {
  test.for([
    [
      "deb [signed-by=/etc/apt/keyrings/platform.asc arch=amd64] https://proxy.example.com/packages/apt stable/v1 main",
      { host: "proxy.example.com", port: 443 },
    ],
    ["# deb https://old.example.com/apt stable main\ndeb http://10.1.2.3:8080/apt stable/v1 main\n", { host: "10.1.2.3", port: 8080 }],
    ["Types: deb\nURIs: https://[fd00::1]:3080/packages/apt\nSuites: stable/v1\n", { host: "fd00::1", port: 3080 }],
    [
      "[platform]\nname=platform\nbaseurl=https://proxy.example.com:3080/packages/yum/stable/v1/$basearch\n",
      { host: "proxy.example.com", port: 3080 },
    ],
    ["[platform]\nbaseurl = http://a.example/yum/$basearch", { host: "a.example", port: 80 }],
    ["[platform]\nbaseurl=file:///srv/yum", undefined],
    ["", undefined],
    ["deb nonsense", undefined],
  ] as const)("in %j", ([text, address]) => {
    expect(repositoryAddress(text)).toEqual(address);
  });

  test("is searched safely in any text", () => {
    const line = fc.tuple(fc.constantFrom("deb ", "URIs: ", "baseurl=", "deb [", ""), fc.string()).map(([before, rest]) => before + rest);
    fc.assert(fc.property(fc.array(line), (lines) => void repositoryAddress(lines.join("\n"))));
  });
});
