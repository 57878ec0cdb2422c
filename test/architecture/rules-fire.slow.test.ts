import { beforeAll, describe, expect, test } from "vitest";
import { steps } from "../../scripts/check/steps.ts";
import type { Finished } from "../world/program.ts";
import {
  badExports,
  badNames,
  committedProducts,
  environmentReaders,
  fixedRuns,
  httpClients,
  impurities,
  missingPurePlaces,
  missingReplacements,
  tlsContexts,
} from "./conventions.ts";
import { documentsByHand, undeclaredDocuments } from "./documents.ts";
import { cycles, layerViolations, lonelyFolders, missingImports, webValues } from "./layers.ts";
import { unplainWords } from "./plain-words.ts";
import { plant } from "./planted.ts";
import { memoryTricks, poorTricks, privateFields, ssh2Insides } from "./private-parts.ts";
import { readSources, type SourceFile } from "./source-tree.ts";

/** A check that cannot fail is a defect: here each one is seen to fail on a violation planted for it. */

describe("a tool of make check refuses", () => {
  const program = 'export function start(value: string): string {\n  return value;\n}\n\nstart(await Promise.resolve("a"));\n';
  const long = `${Array.from({ length: 401 }, (_, line) => `start(${line});`).join("\n")}\nfunction start(_: number): void {}\n`;
  const longFunction = `export function start(): number {\n  let sum = 0;\n${"  sum += 1;\n".repeat(60)}  return sum;\n}\n\nstart();\n`;
  const planted: [what: string, step: keyof typeof steps, text: string, said: RegExp][] = [
    ["a wrong type", "types", 'const count: number = "one";\nexport { count };\n', /TS2322/],
    ["an index that may be missing", "types", "const list: string[] = [];\nconst one: string = list[0];\nexport { one };\n", /TS2322/],
    ["an enum", "types", "export enum Kind {\n  One,\n}\n", /TS1294/],
    ["an untidy format", "format", "export const  one = 1\n", /format/],
    ["any", "format", "export const one: any = 1;\n", /noExplicitAny/],
    ["a barrel", "format", 'export * from "node:fs";\n', /noBarrelFile|noReExportAll/],
    ["an import without node:", "format", 'import { join } from "path";\n\njoin("a");\n', /useNodejsImportProtocol/],
    ["a floating promise", "lint", program.replace("start(await", "void 0;\nPromise.resolve(1);\nstart(await"), /no-floating-promises/],
    ["a promise as a condition", "lint", "if (Promise.resolve(true)) start();\nfunction start(): void {}\n", /no-misused-promises/],
    [
      "a switch that forgets a case",
      "lint",
      'export function start(kind: "a" | "b"): number {\n  switch (kind) {\n    case "a":\n      return 1;\n  }\n  return 2;\n}\nstart("a");\n',
      /switch-exhaustiveness/,
    ],
    ["fork()", "lint", 'import { fork } from "node:child_process";\nfork("x");\n', /no-restricted-imports/],
    ["cluster", "lint", 'import cluster from "node:cluster";\ncluster.setupPrimary();\n', /no-restricted-imports/],
    ["a file of more than 400 lines", "lint", long, /max-lines/],
    ["a function of more than 60 lines", "lint", longFunction, /max-lines-per-function/],
    ["five parameters", "lint", "export function start(a: 1, b: 1, c: 1, d: 1, e: 1): number {\n  return a + b + c + d + e;\n}\n", /max-params/],
    ["printing past the printer", "lint", "console.log(1);\n", /no-console/],
    ["a default export", "lint", "export default 1;\n", /no-default-export/],
    ["throwing something other than an error", "lint", 'throw "no";\n', /only-throw-error/],
  ];
  const nameOf = (index: number): string => `core/case-${index}.ts`;
  const cycle = {
    "cycle.ts": 'import { b } from "./core/b.ts";\n\nexport const a = 1;\nb();\n',
    "core/b.ts": 'import { a } from "../cycle.ts";\n\nexport function b(): number {\n  return a;\n}\n',
  };
  /** What each tool said about the violations that it is there for: planted all at once, as a tool's start is what takes the time. */
  const said = new Map<string, Finished>();
  beforeAll(async () => {
    for (const step of ["types", "format", "lint"] as const) {
      const own = planted.flatMap(([, kind, text], index) => (kind === step ? [[nameOf(index), text] as const] : []));
      using tree = plant({ ...Object.fromEntries(own), ...(step === "lint" && cycle) });
      said.set(step, await tree.run(steps[step]));
    }
  });
  /** The paragraphs of its output that name a file. */
  const saidOf = (step: string, file: string): string => {
    const { stdout, stderr, status } = said.get(step) ?? { stdout: "", stderr: "", status: 0 };
    expect(status).not.toBe(0);
    const paragraphs = `${stdout}\n${stderr}`.split(step === "types" ? "\n" : /\n\s*\n/);
    return paragraphs.filter((one) => one.includes(file)).join("\n");
  };
  test.for(planted.map((one, index) => [one[0], one, nameOf(index)] as const))("%s", ([, [, step, , expected], file]) => {
    expect(saidOf(step, file)).toMatch(expected);
  });

  test("an import cycle", () => {
    expect(saidOf("lint", "cycle.ts")).toMatch(/no-cycle/);
  });

  test("a file, an export and a dependency that nobody uses", { timeout: 60_000 }, async () => {
    using tree = plant({
      "main.ts": 'import { used } from "./core/used.ts";\n\nused();\n',
      "core/used.ts": "export function used(): void {}\n\nexport function unused(): void {}\n",
      "core/forgotten.ts": "export const forgotten = 1;\n",
    });
    const { status, stdout } = await tree.run(steps.unused);
    expect(stdout).toMatch(/core\/forgotten\.ts/);
    expect(stdout).toMatch(/unused\s+function/);
    expect(stdout).toMatch(/Unused dependencies[^\n]*\n(.*\n)*ssh2/);
    expect(status).not.toBe(0);
  });

  // What is right it takes in make check itself.
  test("generated code that was changed by hand", { timeout: 60_000 }, async () => {
    using edited = plant({ "core/api/generated/platform/auth/v1/auth_pb.ts": "export {};\n" }, ["core/api/proto", "scripts/check"]);
    const { status, stderr } = await edited.run(steps.generated);
    expect(stderr).toMatch(/npm run generate/);
    expect(status).not.toBe(0);
  });

  test("a unit test that fails", { timeout: 60_000 }, async () => {
    using tree = plant({ "core/one.test.ts": 'import { expect, test } from "vitest";\n\ntest("fails", () => {\n  expect(1).toBe(2);\n});\n' });
    const { status, stdout, stderr } = await tree.run(steps.tests);
    expect(stdout + stderr).toMatch(/Tests +1 failed[\s\S]*expected 1 to be 2/);
    expect(status).not.toBe(0);
  });

  test("nothing of this in a sound tree", { timeout: 60_000 }, async () => {
    using tree = plant({});
    const looks = [steps.types, steps.format, steps.lint].map(async (step) => {
      const { status, stdout, stderr } = await tree.run(step);
      expect(`${step.name}: ${status} ${status === 0 ? "" : stdout + stderr}`).toBe(`${step.name}: 0 `);
    });
    await Promise.all(looks);
  });
});

describe("the architecture test sees", () => {
  const tree = (files: Readonly<Record<string, string>>): readonly SourceFile[] => {
    using planted = plant(files);
    return readSources(planted.root);
  };
  const cases: [what: string, files: Record<string, string>, find: (files: readonly SourceFile[]) => string[], found: RegExp][] = [
    [
      "core that imports a program",
      { "core/log/a.ts": 'import "../../agent/b.ts";' },
      layerViolations,
      /core\/log\/a\.ts must not import agent\/b\.ts/,
    ],
    ["a lower row that imports a higher one", { "core/identity/a.ts": 'import("../access/b.ts");' }, layerViolations, /must not import core\/access/],
    [
      "a program that imports another",
      { "cli/a.ts": 'import type { B } from "../control/b.ts";' },
      layerViolations,
      /cli\/a\.ts must not import control/,
    ],
    [
      "a page that reaches into the server",
      { "web/pages/a.tsx": 'import type { A } from "../../control/b.ts";' },
      layerViolations,
      /must not import control/,
    ],
    ["a page that takes more than types", { "web/a.ts": 'import { b } from "../core/resources/b.ts";' }, webValues, /only types from core/],
    ["a service that imports another", { "agent/db/a.ts": 'import "../ssh/b.ts";' }, layerViolations, /agent\/db\/a\.ts must not import/],
    [
      "a kit of services that knows one of them",
      { "agent/service/a.ts": 'import "../ssh/b.ts";' },
      layerViolations,
      /agent\/service\/a\.ts must not import/,
    ],
    [
      "a kind of service that reads the union of all audit events",
      { "core/kinds/ssh/a.ts": 'import "../../audit/audit-events.ts";' },
      layerViolations,
      /core\/kinds\/ssh\/a\.ts must not import core\/audit\/audit-events\.ts/,
    ],
    ["a program that imports a test", { "agent/a.ts": 'import "../test/world/b.ts";' }, layerViolations, /must not import test/],
    ["a folder without a layer", { "extra/a.ts": "" }, layerViolations, /extra\/a\.ts is in no layer/],
    [
      "an import of what is not there",
      { "core/log/a.ts": 'import "./b.ts";' },
      (files) => missingImports(files, () => false),
      /b\.ts, which is not there/,
    ],
    ["a circle", { "cli/a.ts": 'import "./b.ts";', "cli/b.ts": 'import "./a.ts";' }, cycles, /cli\/a\.ts -> cli\/b\.ts -> cli\/a\.ts/],
    [
      "a circle of types",
      { "cli/a.ts": 'import type { B } from "./b.ts";', "cli/b.ts": 'import "./a.ts";' },
      cycles,
      /cli\/a\.ts -> cli\/b\.ts -> cli\/a\.ts/,
    ],
    ["a folder of core with one user", { "core/log/a.ts": "", "cli/a.ts": 'import "../core/log/a.ts";' }, lonelyFolders, /core\/log/],
    ["input in a pure file", { "core/access/a.ts": 'import "node:fs";' }, impurities, /pure and imports node:fs/],
    ["a socket in a pure file", { "core/transport/alpn.ts": 'import { connect } from "node:net";' }, impurities, /imports node:net/],
    ["the clock in a pure file", { "core/access/a.ts": "export const now = Date.now();" }, impurities, /uses Date\.now/],
    ["chance in a pure file", { "core/identity/a.ts": "export const id = randomUUID();" }, impurities, /uses randomUUID/],
    ["a pure place that is gone", {}, missingPurePlaces, /core\/access/],
    ["a name that says nothing", { "core/log/utils.ts": "" }, badNames, /utils\.ts/],
    ["a folder that says nothing", { "cli/helpers/a.ts": "" }, badNames, /helpers/],
    ["a name in camel case", { "cli/fooBar.ts": "" }, badNames, /fooBar/],
    ["a re-export", { "cli/a.ts": 'export { b } from "./b.ts";' }, badExports, /re-exports/],
    ["a default export", { "cli/a.ts": "export default 1;" }, badExports, /default export/],
    ["a reader of the environment", { "agent/a.ts": "export const home = process.env.HOME;" }, environmentReaders, /process\.env/],
    ["a property with few runs", { "core/a.test.ts": `fc.assert(one, { ${"numRuns"}: 30 });` }, fixedRuns, /core\/a\.test\.ts fixes the runs/],
    ["a second way to ssh2", { "core/a.ts": 'import ssh2 from "ssh2";' }, ssh2Insides, /core\/a\.ts loads ssh2/],
    ["an inner module of ssh2", { "agent/a.ts": 'import type { Protocol } from "ssh2/lib/protocol/Protocol.js";' }, ssh2Insides, /imports ssh2\/lib/],
    [
      "a way around ssh2's hooks",
      { "core/ssh/a.ts": 'import { sendData } from "./ssh2/channel-flow.ts";' },
      ssh2Insides,
      /hooks\.ts is the only way/,
    ],
    ["a private field of ssh2", { "core/ssh/a.ts": "connection._protocol.exec = wrapped;" }, privateFields, /core\/ssh\/a\.ts touches _protocol/],
    ["one in a test", { "agent/ssh/a.test.ts": "const { _sock: stream } = client;" }, privateFields, /touches _sock/],
    ["one among a function's parameters", { "control/a.ts": "const end = ({ _sock, isOpen }: Raw) => isOpen;" }, privateFields, /touches _sock/],
    ["Node's listeners", { "control/a.ts": "const events = emitter._events;" }, privateFields, /touches _events/],
    ["Node's handle by its name", { "core/transport/a.ts": 'Reflect.get(server, "_handle");' }, privateFields, /touches _handle/],
    ["a replaced method of a socket", { "core/transport/a.ts": "socket.read = () => null;" }, privateFields, /touches read/],
    [
      "replaced methods, by a copy",
      { "core/a.ts": "return Object.assign(stream, { push, read, kept: 1 });" },
      privateFields,
      /touches (?:push|read)/,
    ],
    ["a flag of Node's TLS", { "control/a.ts": "Object.assign(tls, { secureConnecting: false });" }, privateFields, /touches secureConnecting/],
    ["a trick that nobody has measured", { "core/node-internals/a.ts": "" }, poorTricks, /a\.ts is not listed/],
    ["a trick that is gone", {}, poorTricks, /feed-in-pieces\.ts is listed .* does not exist/],
    [
      "a trick that saves little",
      {},
      (files) => poorTricks(files, [...memoryTricks, { file: "core/node-internals/compact-listeners.ts", savesKib: 1.3 }]),
      /compact-listeners\.ts saves 1\.3 KiB .* delete it/,
    ],
    [
      "an HTTP request by hand",
      { "agent/a.ts": 'import { createServer, request } from "node:http";' },
      httpClients,
      /agent\/a\.ts makes HTTP requests/,
    ],
    ["an HTTP request by fetch", { "updater/a.ts": "await fetch(url);" }, httpClients, /updater\/a\.ts makes HTTP requests/],
    ["a second way to undici", { "core/api/a.ts": 'await import("undici");' }, httpClients, /core\/api\/a\.ts makes HTTP requests/],
    [
      "JSON of a message that is read by hand",
      { "cli/a.ts": "const a = JSON.parse(answer.rolesJson[0]);" },
      documentsByHand,
      /a\.ts:1 reads or writes/,
    ],
    ["the same of a list", { "cli/a.ts": "const a = rolesJson.map((one) => JSON.parse(one));" }, documentsByHand, /a\.ts:1 reads or writes/],
    ["JSON of a message that is written by hand", { "cli/a.ts": "send({ statusJson: JSON.stringify(status) });" }, documentsByHand, /a\.ts:1 reads/],
    ["a message in words of another language", { "cli/a.ts": 'throw new Error("this is no host");' }, unplainWords, /cli\/a\.ts:1: .*write is not a/],
    ["a comment without a subject", { "cli/a.ts": "/** Who asks is refused. */" }, unplainWords, /write a noun as the subject/],
    ["a user who is told", { "cli/a.ts": "// The user is told." }, unplainWords, /write reported, notified/],
    ["something made anew", { "cli/a.ts": "const text = `made anew`;" }, unplainWords, /write again, or re-/],
    ["whoever in JSX", { "web/a.tsx": "<p>\nFor whoever comes\n</p>" }, unplainWords, /web\/a\.tsx:2: .*write a noun: the user/],
    ["a page of documentation", {}, () => unplainWords([{ path: "docs/a.md", text: "A host that is told." }]), /docs\/a\.md:1: /],
    ["a shell script", {}, () => unplainWords([{ path: "scripts/a.sh", text: 'say "dpkg is told to finish"' }]), /scripts\/a\.sh:1: /],
    [
      "a file that the build replaces, under another name",
      {
        "scripts/build/bundle.ts": 'hooks.onLoad({ filter: /core\\/memory\\/memory-addon\\.ts$/ }, () => own("memory"));',
        "core/memory/give-back.ts": "",
      },
      missingReplacements,
      /memory-addon\\\.ts\$, which is not there/,
    ],
    ["a build that replaces nothing", { "scripts/build/bundle.ts": "" }, missingReplacements, /replaces no file/],
    ["a TLS context of its own", { "control/a.ts": "createSecureContext({ cert, key });" }, tlsContexts, /control\/a\.ts makes a TLS context/],
  ];
  test.for(cases)("%s", ([, files, find, found]) => {
    expect(find(tree(files)).join("\n")).toMatch(found);
  });

  test.for<[what: string, field: string, found: RegExp]>([
    ["JSON that is not declared", "  repeated string things_json = 3;", /auth\.proto:2: things_json holds JSON/],
    ["JSON that is not declared, under its plain name", "  string json = 3;", /json holds JSON/],
    ["a document that is not named so", '  string thing = 3 [(document) = "role"];', /thing is a document: name it/],
    ["a document that is not a text", '  bytes thing_json = 3 [(document) = "role"];', /its type is string/],
  ])("%s in auth.proto", ([, field, found]) => {
    expect(undeclaredDocuments(`message A {\n${field}\n}`).join("\n")).toMatch(found);
  });

  test("a link to the installed modules, or what was built, in git", () => {
    const paths = ["main.ts", "node_modules", "dist/platform", "bench/dist.ts"];
    expect(committedProducts(paths)).toEqual(["node_modules is in git and is not a source", "dist/platform is in git and is not a source"]);
  });
});
