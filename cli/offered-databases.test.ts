import { expect, test } from "vitest";
import { databasesResult, offeredDatabases } from "./offered-databases.ts";

const everything = { labels: {}, search: [], query: "" };
const [one, two] = ["aaaaaaaa-1111-4111-8111-111111111111", "bbbbbbbb-1111-4111-8111-111111111111"];

/** A client whose answer has these resources. */
function client(...resources: readonly object[]): Parameters<typeof offeredDatabases>[0] & { readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const listOffered = async (request: unknown) => {
    asked.push(request);
    return {
      resources: resources.map((resource) => ({
        kind: "db",
        labels: {},
        details: {},
        hostIds: [],
        hosts: [],
        accounts: [],
        unused: "",
        ...resource,
      })),
    };
  };
  return { asked, listOffered } as never;
}

const orders = {
  name: "orders",
  labels: { env: "prod", team: "shop" },
  details: { protocol: "postgres" },
  hostIds: [one, two],
  hosts: [
    { id: one, hostname: "db-1", health: "healthy", healthError: "" },
    { id: two, hostname: "db-2", health: "unhealthy", healthError: "no connection to 10.0.0.5:5432: connection refused" },
  ],
};
const logs = { name: "logs", details: { protocol: "mongodb" }, hostIds: [one], hosts: [{ id: one, hostname: "db-1", health: "", healthError: "" }] };

test("several agents of one database are one row, and reasons stand below", async () => {
  const all = await offeredDatabases(client(logs, orders), everything);
  expect(databasesResult(all)).toEqual({
    data: [
      { name: "logs", protocol: "mongodb", health: "unknown", labels: {}, agents: [{ id: one, hostname: "db-1", health: "unknown" }] },
      {
        name: "orders",
        protocol: "postgres",
        health: "healthy",
        labels: { env: "prod", team: "shop" },
        agents: [
          { id: one, hostname: "db-1", health: "healthy" },
          { id: two, hostname: "db-2", health: "unhealthy", error: "no connection to 10.0.0.5:5432: connection refused" },
        ],
      },
    ],
    names: ["logs", "orders"],
    text: [
      "Database Protocol Health  Healthy agents Labels",
      "-------- -------- ------- -------------- ------------------",
      "logs     mongodb  unknown 0 of 1",
      "orders   postgres healthy 1 of 2         env=prod,team=shop",
      "",
      "Unhealthy Agent on Reason",
      "--------- -------- --------------------------------------------------",
      "orders    db-2     no connection to 10.0.0.5:5432: connection refused",
    ].join("\n"),
  });
});

test("a database that answers, but at which its agent cannot make accounts, has the reason below", async () => {
  const error = "admin_user platform-admin: the server refused the login: permission denied (SQLSTATE 42501)";
  const all = await offeredDatabases(client({ ...orders, hosts: [{ ...orders.hosts[0], healthError: error }] }), everything);
  expect(all).toMatchObject([{ health: "healthy", agents: [{ error }] }]);
  expect(databasesResult(all).text.split("\n").slice(3)).toEqual([
    "",
    expect.stringMatching(/^Faulty +Agent on Reason$/),
    expect.any(String),
    `orders db-1     ${error}`,
  ]);
});

test("the auth service gets the filter; one of the version before does not know it", async () => {
  const filter = { labels: { env: "prod" }, search: ["shop"], query: 'status == "healthy"' };
  const old = client(orders, { ...logs, labels: { env: "test" } });
  expect((await offeredDatabases(old, filter)).map(({ name }) => name)).toEqual(["orders"]);
  expect(old.asked).toEqual([{ kind: "db", ...filter }]);
});

test("the auth service of the version before lists hosts without their names, and their health with the facts", async () => {
  const old = { name: "orders", details: { protocol: "redis", health: "unhealthy", health_error: "down" }, hostIds: [one] };
  const [listed] = await offeredDatabases(client(old), everything);
  expect(listed).toMatchObject({ health: "unhealthy", agents: [{ id: one, hostname: "", health: "unhealthy", error: "down" }] });
  expect(databasesResult(listed === undefined ? [] : [listed]).text).toContain(`orders    ${one} down`);
});

test("accounts are a column where they are asked for", async () => {
  const all = await offeredDatabases(client({ ...orders, accounts: ["reader", "writer"] }, logs), everything);
  expect(all.map(({ users }) => users)).toEqual([["reader", "writer"], undefined]);
  const [header = "", , first = "", second = ""] = databasesResult(all, { users: true, name: ({ name }) => `> ${name}` }).text.split("\n");
  expect(header).toBe("Database Protocol Health  Healthy agents Allowed users  Labels");
  expect(first).toBe("> orders postgres healthy 1 of 2         reader, writer env=prod,team=shop");
  expect(second.trimEnd()).toBe("> logs   mongodb  unknown 0 of 1");
});
