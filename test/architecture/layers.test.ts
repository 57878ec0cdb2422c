import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
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
import { layerTable, tableIn } from "./layer-table.ts";
import { cycles, layerViolations, lonelyFolders, missingImports, webValues } from "./layers.ts";
import { unplainWords } from "./plain-words.ts";
import { poorTricks, privateFields, ssh2Insides } from "./private-parts.ts";
import { listFiles, readSources } from "./source-tree.ts";

const root = resolve(import.meta.dirname, "../..");
const files = readSources(root);

test("the sources are found, with their imports", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.find((file) => file.path === "main.ts")?.imports).toContain("programs/tsh.ts");
  expect(missingImports(files, (path) => existsSync(join(root, path)))).toEqual([]);
});

test("every import is one that the layer table allows", () => {
  expect(layerViolations(files)).toEqual([]);
});

test("the Web UI imports only types from the rest", () => {
  expect(webValues(files)).toEqual([]);
});

test("ARCHITECTURE.md has the layer table as it is here", () => {
  expect(tableIn(readFileSync(join(root, "ARCHITECTURE.md"), "utf8"))).toBe(layerTable());
});

test("no files import each other in a circle", () => {
  expect(cycles(files)).toEqual([]);
});

test("every folder of core is needed by two programs", () => {
  expect(lonelyFolders(files)).toEqual([]);
});

test("files that decide have no effects, no clock and no chance", () => {
  expect(missingPurePlaces(files)).toEqual([]);
  expect(impurities(files)).toEqual([]);
});

test("names say something, in kebab-case", () => {
  expect(badNames(files)).toEqual([]);
});

test("nothing is re-exported or exported as default", () => {
  expect(badExports(files)).toEqual([]);
});

test("only main.ts and programs/ read the environment", () => {
  expect(environmentReaders(files)).toEqual([]);
});

test("ssh2 is reached through core/ssh/ssh2/hooks.ts only", () => {
  expect(ssh2Insides(files)).toEqual([]);
});

test("private fields of ssh2 and of Node are touched in their own folders only", () => {
  expect(privateFields(files)).toEqual([]);
});

test("every memory trick saves enough, and every file for Node's private fields has a reason", () => {
  expect(poorTricks(files)).toEqual([]);
});

test("HTTP requests are made in one place", () => {
  expect(httpClients(files)).toEqual([]);
});

test("JSON in the auth API is a declared document, read and written by one codec", () => {
  const proto = readFileSync(join(root, "core/api/proto/platform/auth/v1/auth.proto"), "utf8");
  expect(proto).toContain("(document)");
  expect(undeclaredDocuments(proto)).toEqual([]);
  expect(documentsByHand(files)).toEqual([]);
});

test("every TLS server takes its context from one place", () => {
  expect(tlsContexts(files)).toEqual([]);
});

test("`make fuzz` sets how often each property is tried", () => {
  expect(fixedRuns(files)).toEqual([]);
});

test("every file that the build replaces is there", () => {
  expect(missingReplacements(files)).toEqual([]);
});

test("messages, comments and pages are in plain words", () => {
  const written = /\.(?:md|sh|c|h|proto|ya?ml|tpl|service|timer|txt)$|^packaging\/|^charts\//;
  const pages = listFiles(root).filter((path) => written.test(path));
  for (const path of ["README.md", "scripts/install.sh", "core/api/proto/platform/auth/v1/auth.proto"]) expect(pages).toContain(path);
  const sources = files.filter(({ path }) => path !== "test/architecture/rules-fire.slow.test.ts");
  expect(unplainWords([...sources, ...pages.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))])).toEqual([]);
});

test.skipIf(!existsSync(join(root, ".git")))("nothing that is installed or built is in git", () => {
  const paths = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");
  expect(paths).toContain("main.ts");
  expect(committedProducts(paths)).toEqual([]);
});
