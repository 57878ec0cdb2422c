import { describe, expect, test } from "vitest";
import { LiveNodes, type LiveReport } from "./live-nodes.ts";

const at = (seconds: number): Date => new Date(seconds * 1000);
const says = (proxy: string, connected: boolean, more: Partial<LiveReport> = {}): LiveReport => ({
  connected,
  address: `from-${proxy}`,
  hostname: "web",
  version: "1",
  proxy,
  ...more,
});

describe("a host with tunnels to several proxies", () => {
  test("is connected while any of them has one, whichever said so last", () => {
    const live = new LiveNodes();
    live.report("web", says("a", true), at(1));
    live.report("web", says("b", true), at(2));
    live.report("web", says("b", false, { ending: "silent" }), at(3));
    expect(live.get("web")).toMatchObject({ connected: true, since: at(1), proxies: ["a"], ending: undefined });
    live.report("web", says("a", false, { ending: "stopped" }), at(4));
    expect(live.get("web")).toMatchObject({ connected: false, since: at(4), proxies: [], ending: "stopped" });
    live.report("web", says("b", true), at(5));
    expect(live.get("web")).toMatchObject({ connected: true, since: at(5), proxies: ["b"] });
  });

  test("a proxy that says gone twice, or never had it, takes nothing from the others", () => {
    const live = new LiveNodes();
    live.report("web", says("a", true), at(1));
    live.report("web", says("b", false), at(2));
    live.report("web", says("b", false), at(3));
    expect(live.get("web")).toMatchObject({ connected: true, since: at(1), proxies: ["a"] });
  });

  test("is lost with its last proxy only", () => {
    const live = new LiveNodes();
    const watches = ["a", "b"].map((proxy) => live.watching(proxy, () => at(9)));
    live.report("web", says("a", true), at(1));
    live.report("web", says("b", true), at(2));
    live.report("db", says("b", true), at(2));
    watches[1]?.[Symbol.dispose]();
    expect(live.get("web")).toMatchObject({ connected: true, proxies: ["a"] });
    expect(live.get("db")).toMatchObject({ connected: false, ending: "lost", since: at(9) });
    watches[0]?.[Symbol.dispose]();
    expect(live.get("web")).toMatchObject({ connected: false, ending: "lost" });
  });

  test("is found by id and by each of its names, as they are now", () => {
    const live = new LiveNodes();
    live.report("web", says("a", true, { names: ["Web-1", "www.example.com"] }), at(1));
    for (const target of ["web", "WEB-1", "web-1.main", "www.example.com"]) expect(live.find(target, "main")).toEqual(["web"]);
    live.report("web", says("a", true, { names: ["web-2"] }), at(2));
    expect(live.find("web-1", "main")).toEqual([]);
    expect(live.find("web-2", "main")).toEqual(["web"]);
    live.forget("web");
    for (const target of ["web", "web-2"]) expect(live.find(target, "main")).toEqual([]);
  });
});
