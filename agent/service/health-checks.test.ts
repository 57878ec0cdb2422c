import { afterEach, beforeEach, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { HealthChecks, type HealthOptions } from "./health-checks.ts";

interface One {
  readonly name: string;
  readonly uri: string;
  readonly labels: Readonly<Record<string, string>>;
}

const database = (name: string, uri = "127.0.0.1:1"): One => ({ name, uri, labels: {} });
const kind = { kind: "db", settings: ({ uri }: One) => uri } as const;

let stop: AbortController;
let reports: number;
let faults: Map<string, string>;
let checks: string[];
let lines: string[];

beforeEach(() => {
  stop = new AbortController();
  reports = 0;
  faults = new Map();
  checks = [];
  lines = [];
});
afterEach(() => stop.abort());

/** Checks that go on without a pause; `faults` says which databases fail. */
function start(options: Partial<HealthOptions<One>> = {}): HealthChecks<One> {
  const check: HealthOptions<One>["check"] = async ({ name }) => {
    checks.push(name);
    const fault = faults.get(name);
    if (fault !== undefined) throw new PlatformError("unavailable", fault);
    return "answers";
  };
  const log = { ...silentLog, info: (text: string) => void lines.push(text), warn: (text: string) => void lines.push(text) };
  const onChange = (): void => {
    reports += 1;
  };
  return new HealthChecks({ ...kind, check, onChange, log, pauseMs: () => 1, collectMs: 1, ...options }, stop.signal);
}

test("the first check decides, one failure makes unhealthy, and changes alone are reported and logged", async () => {
  const health = start();
  expect(health.details("a")).toEqual({ health: "unknown" });
  health.follow([database("a")]);
  await expect.poll(() => health.details("a")).toEqual({ health: "healthy" });
  await expect.poll(() => reports).toBe(1);
  const before = checks.length;
  await expect.poll(() => checks.length).toBeGreaterThan(before + 3);
  expect([reports, lines]).toEqual([1, []]);
  faults.set("a", "no connection to 10.0.0.1:5432: connection refused");
  await expect.poll(() => health.details("a")).toEqual({ health: "unhealthy", health_error: faults.get("a") });
  await expect.poll(() => reports).toBe(2);
  const failing = checks.length;
  await expect.poll(() => checks.length).toBeGreaterThan(failing + 3);
  expect([reports, lines]).toEqual([2, ["a database does not answer its health check"]]);
  faults.clear();
  await expect.poll(() => health.details("a")).toEqual({ health: "healthy" });
  expect(lines.at(-1)).toBe("a database answers its health checks again");
});

test("at most eight checks run at a time, and many changes are one report", async () => {
  let [running, most] = [0, 0];
  const gate = Promise.withResolvers<void>();
  const check: HealthOptions<One>["check"] = async () => {
    running += 1;
    most = Math.max(most, running);
    await gate.promise;
    running -= 1;
    return "answers";
  };
  const health = start({ check, pauseMs: () => 60_000, collectMs: 50 });
  const all = Array.from({ length: 30 }, (_, n) => database(`db-${n}`));
  health.follow(all);
  await expect.poll(() => running).toBe(8);
  gate.resolve();
  await expect.poll(() => all.every(({ name }) => health.details(name).health === "healthy")).toBe(true);
  await expect.poll(() => reports).toBe(1);
  expect(most).toBe(8);
});

test("a database is checked as long as it is offered, and from the beginning once its settings change", async () => {
  const health = start();
  faults.set("a", "down");
  health.follow([database("a"), database("b")]);
  await expect.poll(() => [health.details("a").health, health.details("b").health]).toEqual(["unhealthy", "healthy"]);
  health.follow([{ ...database("a"), labels: { env: "prod" } }]);
  expect(health.details("a").health).toBe("unhealthy");
  expect(health.details("b").health).toBe("unknown");
  checks.length = 0;
  await expect.poll(() => checks.length).toBeGreaterThan(3);
  expect(checks).not.toContain("b");
  faults.clear();
  health.follow([database("a", "127.0.0.1:2")]);
  expect(health.details("a").health).toBe("unknown");
  await expect.poll(() => health.details("a").health).toBe("healthy");
});

test("a database that a session could not reach is checked before its time", async () => {
  const health = start({ pauseMs: () => 600_000, apartMs: 1 });
  health.follow([database("a"), database("b")]);
  await expect.poll(() => [health.details("a").health, health.details("b").health]).toEqual(["healthy", "healthy"]);
  faults.set("a", "refused");
  health.suspect("a");
  health.suspect("unknown");
  await expect.poll(() => health.details("a")).toEqual({ health: "unhealthy", health_error: "refused" });
  expect(checks.filter((name) => name === "b")).toHaveLength(1);
  const before = checks.length;
  health.suspect("a");
  await expect.poll(async () => await Promise.resolve(checks.length)).toBe(before);
});

test("a check that cannot decide changes nothing", async () => {
  let asked = 0;
  const health = start({
    check: async () => {
      asked += 1;
      return undefined;
    },
  });
  health.follow([database("a")]);
  await expect.poll(() => asked).toBeGreaterThan(2);
  expect([health.details("a"), reports]).toEqual([{ health: "unknown" }, 0]);
});

test("the end of the service ends running checks, and no further one begins", async () => {
  const signals: AbortSignal[] = [];
  const ended = Promise.withResolvers<"answers">();
  const check: HealthOptions<One>["check"] = async (_database, signal) => {
    signals.push(signal);
    return await ended.promise;
  };
  const health = start({ check });
  health.follow(Array.from({ length: 20 }, (_, n) => database(`db-${n}`)));
  await expect.poll(() => signals.length).toBe(8);
  stop.abort();
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  ended.resolve("answers");
  health.follow([database("late")]);
  // Whatever waits in the queue has its turn now.
  await expect.poll(async () => await Promise.resolve(signals.length)).toBe(8);
  expect([health.details("db-0").health, reports]).toEqual(["unknown", 0]);
});
