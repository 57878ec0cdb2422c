import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientCommands, statementArguments } from "./client-command.ts";
import { commandText, runClient } from "./start-client.ts";

let bin = "";
beforeAll(async () => {
  bin = await mkdtemp(join(tmpdir(), "platform-clients-"));
});
afterAll(async () => await rm(bin, { recursive: true }));

const script = async (name: string, text: string): Promise<void> => {
  await writeFile(join(bin, name), `#!/bin/sh\n${text}\n`);
  await chmod(join(bin, name), 0o755);
};
const target = { port: 21_000, user: "reader", name: "orders" };
const none = { PATH: "/nonexistent" };

test.for([
  ["postgres", "psql 'host=127.0.0.1 port=21000 user=reader dbname=orders sslmode=disable gssencmode=disable'"],
  ["mysql", "mariadb --protocol=TCP --host=127.0.0.1 --port=21000 --user=reader --database=orders --skip-ssl"],
  ["mongodb", "mongosh 'mongodb://127.0.0.1:21000/orders?directConnection=true'"],
  ["redis", "redis-cli -h 127.0.0.1 -p 21000 -n orders"],
] as const)("the command for %s", ([protocol, text]) => {
  expect(commandText(clientCommands(protocol, target), none)).toBe(text);
});

test("redis-cli follows the redirections of a cluster", () => {
  expect(commandText(clientCommands("redis", { port: 1, user: "", name: "", isCluster: true }), none)).toBe("redis-cli -c -h 127.0.0.1 -p 1");
});

test("the installed one of several clients is named and run; its status is the result", async () => {
  await script("mysql", 'echo "$*" >&2; exit 7');
  const env = { PATH: bin };
  const commands = clientCommands("mysql", target);
  expect(commandText(commands, env)).toMatch(/^mysql .* --ssl-mode=DISABLED$/);
  let said = "";
  const status = await runClient(commands, {
    env,
    database: "shop",
    stdio: ["ignore", "pipe", "pipe"],
    rest: statementArguments("mysql", "select 1"),
    onOutput: (_out, err) => err.on("data", (chunk: Buffer) => (said += chunk.toString())),
  });
  expect(status).toBe(7);
  expect(said).toMatch(/--ssl-mode=DISABLED --batch --execute=select 1\n$/);
});

test("a value that is not plain is quoted for libpq, and then for the shell", () => {
  expect(commandText(clientCommands("postgres", { port: 1, user: "o'neil", name: "" }), none)).toBe(
    "psql 'host=127.0.0.1 port=1 user='\\''o\\'\\''neil'\\'' sslmode=disable gssencmode=disable'",
  );
});

test("without a client: the package, and the way for another client", async () => {
  const start = { env: none, database: "shop", stdio: "ignore", rest: [] } as const;
  await expect(runClient(clientCommands("mysql", target), start)).rejects.toMatchObject({
    code: "not_found",
    message: "mariadb or mysql is not installed here",
    hint: "install one of the packages mariadb-client, default-mysql-client of Debian, or use another client on the port of: tsh proxy db --port=<port> shop",
  });
  await expect(runClient(clientCommands("redis", target), start)).rejects.toMatchObject({
    hint: expect.stringMatching(/^install the package redis-tools of Debian, or /),
  });
  await expect(runClient(clientCommands("mongodb", target), start)).rejects.toMatchObject({
    hint: expect.stringMatching(/^install mongosh \(not a package of Debian: .*mongodb\.com.*\), or /),
  });
});

test("statements run without a password prompt and end at the first failure; other protocols have none", () => {
  expect(statementArguments("postgres", "-- x\nselect 1")).toEqual([
    "--no-psqlrc",
    "--no-password",
    "--set=ON_ERROR_STOP=1",
    "--command=-- x\nselect 1",
  ]);
  expect(() => statementArguments("redis", "x")).toThrow(expect.objectContaining({ code: "unsupported" }));
  expect(() => clientCommands("oracle", target)).toThrow(expect.objectContaining({ code: "unsupported" }));
});
