import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { memoryIo } from "./memory-io.ts";
import { runTctl } from "./tctl/tctl.ts";
import { runTsh } from "./tsh/tsh.ts";

const home = mkdtempSync(join(tmpdir(), "platform-cli-"));
afterAll(() => rmSync(home, { recursive: true }));

/** A command line, its exit status, and what standard error must say. */
const refused: readonly (readonly [line: string, status: number, ...says: readonly RegExp[]])[] = [
  ["tsh", 2, /no command was given/, /tsh --help/],
  ["tsh statsu", 2, /unknown command 'statsu'/, /did you mean status\?/],
  ["tsh ls --verbos", 2, /unknown option '--verbos'/, /did you mean --verbose\?/],
  ["tsh ls --format xml", 2, /Allowed choices are text, json, yaml/],
  ["tsh ssh", 2, /missing required argument/, /see: tsh ssh --help/],
  ["tsh ssh @host", 2, /is not of the form \[user@\]host/],
  ["tsh ssh -l -x root@host", 2, /contains "-x", which is not a valid login/],
  ["tsh ssh root@host;reboot", 2, /is not of the form \[user@\]host/],
  ["tsh login", 2, /no proxy was given/, /--proxy=/],
  ["tsh login --proxy=p", 2, /no user was given/, /--user=/],
  ["tsh login --proxy=http://p --user=u", 2, /has a scheme/],
  ["tsh login --proxy=p --user=u --ttl=soon", 2, /is not a duration/],
  ["tsh login --proxy=p --user=u --ca-pin=md5:1", 2, /is not a CA pin/],
  ["tsh ls", 3, /not logged in/, /tsh login/],
  ["tsh status", 3, /Not logged in/],
  ["tsh config", 3, /not logged in/],
  ["tsh db login", 2, /missing required argument 'name'/, /see: tsh db login --help/],
  ["tsh --proxy p db login --zzz", 2, /unknown option '--zzz'/, /see: tsh db login --help/],
  ["tsh ls web status --zzz", 2, /unknown option '--zzz'/, /see: tsh ls --help/],
  ["tsh db login orders", 3, /not logged in/],
  ["tsh db login orders --port=x --proxy=p", 3, /not logged in/],
  ["tsh db login -i file orders", 2, /unknown option|has no option/],
  ["tsh db env orders", 3, /not logged in/],
  ["tsh db config orders --format=names", 2, /Allowed choices are text, cmd, json, yaml/],
  ["tsh db logout", 3, /not logged in/],
  ["tsh db exec", 2, /missing required argument 'sql'/],
  ["tsh ls --proxy=other.example.com", 3, /not logged in at other\.example\.com:3080/],
  ["tctl status", 3, /admin\.json does not exist; and tsh: not logged in/, /on the auth host run tctl as root/],
  ["tctl users", 2, /no command was given/, /see: tctl users --help/],
  ["tctl users rm", 2, /missing required argument 'name'/],
  ["tctl users add bob", 2, /required option '--roles <roles>'/],
  ["tctl users add bo/b --roles=access", 2, /metadata\.name: a name has 1 to 64/],
  ["tctl users add bob --roles=access --logins=-x", 2, /spec\.traits\.logins\.0: a login has/],
  ["tctl users add bob --roles=access --ttl=72h", 2, /the maximum is 48h/],
  ["tctl users update bob", 2, /no change was given/],
  ["tctl tokens add --type=desktop", 2, /unknown role "desktop"/, /node, app, db, kube, proxy/],
  ["tctl tokens add --type=node --uses=0", 2, /is not a number of hosts/],
  ["tctl tokens add --type=node --app-name=a --app-uri=http://a", 2, /go together, with --type=app/],
  ["tctl tokens add --type=app --app-name=a", 2, /go together, with --type=app/],
  ["tctl tokens add --type=app --app-name=a --app-uri=a", 2, /--app-uri must be tcp:/],
  ["tctl tokens add --type=app --app-name=a --app-uri=tcp://a", 2, /--app-uri must be tcp:\/\/host:port/],
  ["tctl tokens add --type=node --value=hunter2hunter2", 2, /does not belong on the command line/],
  ["tctl tokens add --type=node --value=@/nonexistent", 2, /could not read \/nonexistent/],
  ["tctl get", 2, /missing required argument/],
  ["tctl get widgets", 2, /no resource kind "widgets"/, /role, user, token, node/],
  ["tctl get role/", 2, /has no name after the slash/],
  ["tctl rm role", 2, /no name was given after role/],
  ["tctl create /nonexistent.yaml", 2, /could not read \/nonexistent\.yaml/],
  ["tctl auth export", 2, /required option '--type <type>'/],
  ["tctl auth export --type=ssh", 2, /Allowed choices are host, user/],
  ["tctl audit ls --from=yesterday", 2, /is not a time/],
  ["tctl audit ls --limit=many", 2, /is not a number of events/],
  ["tctl status --config=/nonexistent.yaml", 2, /could not read \/nonexistent\.yaml/],
];

async function run(line: string, input = "") {
  const io = memoryIo({ TSH_HOME: join(home, "tsh"), PLATFORM_DATA_DIR: join(home, "data"), HOME: home }, input);
  const [program, ...argv] = line.split(" ");
  const status = await (program === "tsh" ? runTsh : runTctl)(argv, io);
  return { status, out: io.out(), err: io.err() };
}

test.for(refused)("refused: %s → exit %i", async ([line, status, ...says]) => {
  const done = await run(line);
  expect(done.err).toMatch(status === 3 && line === "tsh status" ? /^Not/ : /^ERROR: /);
  for (const pattern of says) expect(done.err).toMatch(pattern);
  expect({ status: done.status, out: done.out }).toEqual({ status, out: "" });
});

test("a secret that was refused is not repeated", async () => {
  expect((await run("tctl tokens add --type=node --value=hunter2hunter2")).err).not.toContain("hunter2");
});

test.for(["tsh --help", "tctl --help", "tsh help ssh", "tctl users add --help", "tctl help audit"])(
  "help goes to standard output: %s",
  async (line) => {
    const done = await run(line);
    expect(done).toMatchObject({ status: 0, err: "" });
    expect(done.out).toMatch(/^Usage: t(sh|ctl) /);
  },
);

test.for([
  ["went away", "EPIPE", 0, ""],
  ["has no room", "ENOSPC", 9, "ERROR: could not write to standard output: write ENOSPC\n"],
] as const)("help whose reader %s does not crash", async ([, code, status, says]) => {
  const io = memoryIo({}, "");
  const stdout = new Writable({ write: (_chunk, _encoding, done) => setImmediate(done, Object.assign(new Error(`write ${code}`), { code })) });
  expect(await runTctl(["lock", "--help"], { ...io, stdout })).toBe(status);
  // The error is emitted after the write was answered.
  await new Promise(setImmediate);
  expect(io.err()).toBe(says);
});

test("every command that runs has a summary, and its help shows it", async () => {
  expect((await run("tctl --help")).out).toMatch(/users +add, list, change and remove users/);
});

test.for([
  ["tsh version", /^tsh \d+\.\d+\.\d+/],
  ["tctl version -f json", /^\{\n {2}"version": "\d/],
  ["tsh status -f json", /^\{\n {2}"active": null,\n {2}"profiles": \[\]\n\}\n$/],
  ["tsh completion bash", /complete -o default -F _tsh_complete tsh\n$/],
  ["tsh logout", /^Nobody was logged in\.\n$/],
] as const)("%s prints its result to standard output", async ([line, expected]) => {
  expect((await run(line)).out).toMatch(expected);
});
