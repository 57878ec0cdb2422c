import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Node } from "../../../core/resources/node.ts";
import { nameHosts } from "./run-on-hosts.ts";
import { candidatesTable, summarize } from "./ssh-to-labels.ts";

const ids = ["0b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77", "1b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77", "2b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77"];
const node = (id: string, hostname: string): Node => ({
  kind: "node",
  version: "v2",
  metadata: { name: id, labels: { env: "prod" } },
  spec: { hostname, services: ["ssh"], version: "1.0.0" },
  status: { connected: true },
});
const host = (name: string) => ({ id: name, name });

const lost = undefined;

test("lost output is a failure in words, a reader that left is not", () => {
  const outcomes = [{ host: host("web-1"), status: 0 }];
  const failure = (code: string) => Object.assign(new Error(`${code}: write`), { code });
  expect(summarize({ outcomes, lost: failure("ENOSPC") }, 1)).toEqual({ status: 9, lines: ["could not write to standard output: ENOSPC: write"] });
  expect(summarize({ outcomes, lost: failure("EPIPE") }, 2)).toEqual({ status: 141, lines: [] });
});

test("the status is the highest one, and who failed is named with the reason", () => {
  const error = new PlatformError("denied", "access denied: alice may not reach db-1");
  const outcomes = [
    { host: host("web-1"), status: 0 },
    { host: host("web-2"), status: 3 },
    { host: host("db-1"), status: 4, error },
  ];
  expect(summarize({ outcomes, lost }, 3)).toEqual({
    status: 4,
    lines: ["2 of 3 hosts failed:", "  web-2: exit status 3", "  db-1: access denied: alice may not reach db-1"],
  });
  expect(summarize({ outcomes: outcomes.slice(0, 1), lost }, 1)).toEqual({ status: 0, lines: [] });
});

test("hosts that were not started are counted, and a thousand failures do not fill the screen", () => {
  expect(summarize({ outcomes: [{ host: host("a"), status: 0 }], lost }, 3)).toEqual({ status: 0, lines: ["0 of 3 hosts failed; 2 not started:"] });
  const many = Array.from({ length: 1000 }, (_, n) => ({ host: host(`h${n}`), status: 1 }));
  const { lines } = summarize({ outcomes: many, lost }, 1000);
  expect(lines).toHaveLength(102);
  expect(lines.at(-1)).toBe("  … and 900 more");
});

test("hosts of one name are distinguished by their id, ignoring case", () => {
  const [a = "", b = "", c = ""] = ids;
  expect(nameHosts([node(a, "web"), node(b, "WEB"), node(c, "db")]).map(({ name }) => name)).toEqual([`web.${a}`, `WEB.${b}`, "db"]);
  expect(nameHosts([node(a, "web"), node(b, "web"), node(c, `web.${a}`)]).map(({ name }) => name)).toEqual([a, b, c]);
});

test("candidates are a table of id, address and labels, and not endless", () => {
  expect(candidatesTable([node(ids[0] ?? "", "web-1")]).split("\n")[2]).toBe(`web-1     ${ids[0]} ⟵ Tunnel env=prod`);
  expect(candidatesTable(Array.from({ length: 25 }, (_, n) => node(ids[0] ?? "", `web-${n}`)))).toMatch(/\n… and 5 more$/);
});
