import { expect, test, vi } from "vitest";
import { createLog } from "../../../core/log/log.ts";
import { LiveNodes } from "./live-nodes.ts";
import { LiveOffered } from "./live-offered.ts";
import { OfferRoom } from "./offer-room.ts";

/** Hosts in direct mode, and what proxies get of them. */
function stage(most: number) {
  const live = new LiveNodes();
  const offered = new LiveOffered(live);
  const lines: string[] = [];
  const room = new OfferRoom({ offered, live, most, log: createLog({ level: "warn", format: "text", write: (line) => lines.push(line) }) });
  const report = (id: string, connected: boolean, isDialled: boolean): void => {
    const facts = { proxy: isDialled ? id : "proxy", address: "", isDialled, hostname: `host-${id}`, version: "1.0.0", names: [`host-${id}`] };
    live.report(id, { ...facts, connected }, new Date(0));
  };
  const known = new Set<string>();
  return {
    room,
    live,
    lines,
    /** A connected host reports a list of so many bytes. */
    offer: (id: string, bytes: number, isDialled = true): void => {
      known.add(id);
      report(id, true, isDialled);
      offered.report(id, [{ kind: "kube", name: "prod", labels: {} }], bytes);
    },
    leave: (id: string): void => report(id, false, true),
    leftOut: (): string => [...known].filter((id) => room.isLeftOut(id)).join(""),
  };
}

test("while there is room for all, nothing is left out", () => {
  const { offer, leave, leftOut, room } = stage(100);
  for (const id of ["a", "b"]) offer(id, 50);
  // Through a tunnel a proxy knows by itself.
  offer("c", 100, false);
  leave("a");
  offer("d", 50);
  expect(leftOut()).toBe("");
  expect(room.warnings()).toEqual([]);
});

test("beyond it the largest are left out, in whatever order they came, and come back when there is room", async () => {
  const { offer, leave, leftOut, room, lines } = stage(100);
  const changed: string[] = [];
  using _listening = room.onChange((id) => changed.push(id));
  offer("x", 60);
  offer("y", 40);
  for (const id of ["a", "b", "c"]) offer(id, 10);
  expect(leftOut()).toBe("abc");
  await expect.poll(leftOut).toBe("x");
  expect(changed).toEqual(["a", "b", "c", "a", "b", "c", "x"]);
  expect(room.warnings()).toEqual([
    expect.stringMatching(/the largest lists offer is not reachable through them: host-x \(x, 1 KiB\); let them offer less/),
  ]);
  expect(lines).toEqual([expect.stringContaining("host-a")]);
  leave("y");
  await expect.poll(leftOut).toBe("");
  expect(room.warnings()).toEqual([]);
});

test("a list that grows beyond it is left out at once, one that shrinks comes back, and a removed host takes nothing", async () => {
  const { offer, leftOut, live } = stage(100);
  for (const id of ["a", "b"]) offer(id, 40);
  offer("b", 70);
  expect(leftOut()).toBe("b");
  offer("b", 60);
  await expect.poll(leftOut).toBe("");
  offer("c", 50);
  expect(leftOut()).toBe("c");
  await expect.poll(leftOut).toBe("b");
  live.forget("a");
  live.forget("c");
  await expect.poll(leftOut).toBe("");
});

test("of equal lists those that proxies have stay, and a small change of one moves no other", () => {
  vi.useFakeTimers();
  try {
    const { offer, leftOut, room } = stage(100);
    for (const id of ["a", "b", "c"]) offer(id, 29);
    offer("d", 29);
    const changed: string[] = [];
    using _listening = room.onChange((id) => changed.push(id));
    for (const bytes of [28, 29, 30, 29]) {
      offer("a", bytes);
      vi.runAllTimers();
    }
    expect([leftOut(), changed]).toEqual(["d", []]);
  } finally {
    vi.useRealTimers();
  }
});
