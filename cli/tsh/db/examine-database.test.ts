import { expect, test } from "vitest";
import type { ListedDatabase } from "../../offered-databases.ts";
import { joined, judgeAgents } from "./examine-database.ts";

const agent = (hostname: string, health: "healthy" | "unknown" | "unhealthy", error?: string) => ({
  ...{ id: `id-${hostname}`, hostname, health },
  ...(error !== undefined && { error }),
});
const listed = (name: string, agents: ListedDatabase["agents"], users: readonly string[]): ListedDatabase => ({
  ...{ name, protocol: "postgres", health: "healthy", labels: {}, agents, users },
});

test("entries of one name with different labels are one database, with every agent and account", () => {
  const all = [listed("orders", [agent("db-1", "healthy")], ["reader"]), listed("orders", [agent("db-2", "unknown")], ["reader", "writer"])];
  expect(joined([...all, listed("shop", [], [])], "orders")).toEqual({
    ...{ name: "orders", protocol: "postgres", users: ["reader", "writer"] },
    agents: [agent("db-1", "healthy"), agent("db-2", "unknown")],
  });
});

test("what the agents see is reported; one that does not reach the server is a warning, all of them are the failure", () => {
  expect(judgeAgents({ name: "orders", agents: [agent("db-1", "healthy"), agent("db-2", "unknown")] })).toEqual({
    says: "db-1 sees it healthy, db-2 has not checked it yet",
  });
  const bad = agent("db-2", "unhealthy", "connection refused");
  expect(judgeAgents({ name: "orders", agents: [agent("db-1", "healthy"), bad] })).toMatchObject({
    says: "db-1 sees it healthy, db-2 sees it unhealthy",
    warning: expect.stringMatching(/^connections avoid the unhealthy ones: db-2: connection refused; /),
  });
  expect(() => judgeAgents({ name: "orders", agents: [bad] })).toThrow(
    expect.objectContaining({ code: "unavailable", message: "database orders is unreachable for its agent: db-2: connection refused" }),
  );
});
