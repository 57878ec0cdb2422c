import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rootCertificates } from "node:tls";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { CommandSpec, ProgramSpec } from "../../cli/command.ts";
import { memoryIo } from "../../cli/memory-io.ts";
import { textResult } from "../../cli/output.ts";
import { platformProgram } from "../../cli/platform/platform.ts";
import type { Services } from "../../cli/platform/services.ts";
import { runProgram } from "../../cli/run-program.ts";
import { readManifest } from "../../cli/tctl/manifest.ts";
import { tctl } from "../../cli/tctl/tctl.ts";
import { tsh } from "../../cli/tsh/tsh.ts";
import { parseConfig } from "../../core/config/parse-config.ts";
import { configSchema } from "../../core/config/platform-config.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import { resourceKinds } from "../../core/resources/resource-specs.ts";
import { usage as updaterUsage } from "../../updater/commands.ts";
import { readSources } from "../architecture/source-tree.ts";
import { type Example, fencedBlocks, inlineCode, pages, readPage, root, shellCommands } from "./page-examples.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Parts of documents, by their first key: the document that a reader puts them into. */
const around: Readonly<Record<string, (part: Fields) => Fields>> = {
  tls: (part) => ({ db_service: { enabled: true, databases: [{ name: "orders", protocol: "postgres", uri: "db-1.internal:5432", ...part }] } }),
  databases: (part) => ({ db_service: { enabled: true, ...part } }),
  commands: (part) => ({ kubernetes_service: { enabled: true, kubeconfig_file: "/kubeconfig", ...part } }),
  public_addr: (part) => ({ app_service: { enabled: true, apps: [{ name: "grafana", uri: "http://127.0.0.1:3000", ...part }] } }),
  allow: (spec) => ({ kind: "role", version: "v7", metadata: { name: "part" }, spec }),
  spec: (part) => ({ kind: "role", version: "v7", metadata: { name: "part" }, ...part }),
};

/** What is wrong with an example in YAML: nothing, or the sentences that its reader would get. */
function yamlProblems(text: string): readonly string[] {
  const value: unknown = parse(text);
  // "In the file and in the `spec` of the resource."
  if (typeof value === "object" && value !== null && "public_addr" in value) {
    const spec = { uri: "http://127.0.0.1:3000", ...value };
    const problems = manifestProblems(stringify({ kind: "app", version: "v3", metadata: { name: "grafana" }, spec }));
    if (problems.length > 0) return problems;
  }
  const read = Array.isArray(value) ? { app_service: { enabled: true, apps: value as unknown } } : (value as Fields);
  const whole = around[Object.keys(read)[0] ?? ""]?.(read) ?? read;
  // Objects of Kubernetes itself.
  if ("apiVersion" in whole) return [];
  if (resourceKinds.some((kind) => kind === whole.kind)) return manifestProblems(whole === read ? text : stringify(whole));
  const strange = Object.keys(whole).filter((key) => !(key in configSchema.shape));
  if (strange.length > 0) return [`neither a resource nor a configuration: ${strange.join(", ")}`];
  return parseConfig("version" in whole ? text : stringify(wholeFile(whole))).problems.map((problem) => problem.text);
}

/** The file of a host, of which a page shows these sections. */
function wholeFile(sections: Fields): Fields {
  const agent = Object.keys(sections).some((name) => ["ssh_service", "app_service", "db_service", "kubernetes_service"].includes(name));
  const platform = { ...(agent && { proxy_server: "access.example.com:443" }), ...(sections.platform as Fields | undefined) };
  return { version: "v3", ...(!agent && { auth_service: { enabled: true } }), ...sections, platform };
}

function manifestProblems(text: string): readonly string[] {
  try {
    readManifest(text.replace("-----BEGIN CERTIFICATE-----…", JSON.stringify(rootCertificates[0]).slice(1, -1)), "example");
    return [];
  } catch (thrown) {
    return [errorText(thrown)];
  }
}

const programs: Readonly<Record<string, ProgramSpec>> = { tsh, tctl, platform: platformProgram({} as Services) };
/** Commands that main.ts takes by itself. */
const ofMain = new Set(["platform kube-updater"]);
const updaterCommands = new Set([...updaterUsage.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name));

/** The program with commands that do nothing. */
function still(spec: ProgramSpec): ProgramSpec {
  const quiet = (command: CommandSpec): CommandSpec => ({
    ...command,
    ...(command.run !== undefined && { run: () => Promise.resolve(textResult("")) }),
    ...(command.commands !== undefined && { commands: command.commands.map(quiet) }),
  });
  return { ...spec, commands: spec.commands.map(quiet) };
}

/** Refusals of the commands of ours in a text for a shell, and what is wrong with the resources on their standard input. */
async function shellProblems(text: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { words, input } of shellCommands(text)) {
    const [name = "", ...argv] = words;
    const program = programs[name];
    if (name === "platform-upgrade" && !updaterCommands.has(argv[0])) problems.push(`platform-upgrade has no ${argv[0]}`);
    if (name === "tctl" && input !== "") problems.push(...manifestProblems(input));
    if (program === undefined) continue;
    const io = memoryIo({}, "");
    if ((await runProgram(still(program), argv, io)) !== 0) problems.push(`${words.join(" ")}: ${io.err().trim()}`);
  }
  return problems;
}

/** All the examples whose check finds something, with it. */
async function faulty(examples: readonly Example[], check: (text: string) => readonly string[] | Promise<readonly string[]>): Promise<string[]> {
  const found = await Promise.all(examples.map(async ({ place, text }) => (await check(text)).map((problem) => `${place}: ${problem}`)));
  return found.flat();
}

/** The deepest command that the words name, and the first word behind it. */
function commandOf(spec: ProgramSpec, words: readonly string[]): { readonly command: CommandSpec | undefined; readonly next: string | undefined } {
  let commands: readonly CommandSpec[] = spec.commands;
  let command: CommandSpec | undefined;
  for (const [at, word] of words.entries()) {
    const inner = commands.find(({ name }) => name === word);
    if (inner === undefined) return { command, next: words[at] };
    command = inner;
    commands = inner.commands ?? [];
  }
  return { command, next: undefined };
}

/** Long options of a command, and the short ones, with their dashes. */
function optionsOf(command: CommandSpec): ReadonlySet<string> {
  const all = (command.options ?? []).flatMap(({ flags }) => flags.match(/(?<![\w-])--?[a-zA-Z][a-z0-9-]*/g) ?? []);
  return new Set([...all, "--help", ...(command.formats === undefined ? [] : ["--format", ...(command.longFormatOnly === true ? [] : ["-f"])])]);
}

/** What a mention of a command in a sentence names and is not there. Arguments may be missing, or in brackets. */
function mentionProblems(text: string): readonly string[] {
  const [name = "", ...words] = text.replaceAll(/[[\]]/g, "").split(" ");
  const spec = programs[name];
  if (spec === undefined || words.length === 0 || ofMain.has(text)) return [];
  const firstOption = words.findIndex((word) => word.startsWith("-"));
  const { command, next } = commandOf(spec, firstOption < 0 ? words : words.slice(0, firstOption));
  const isPath = next === undefined || !/^[a-z][a-z-]*$/.test(next);
  if (command === undefined) return isPath ? [] : [`${name} has no command ${next}`];
  if (command.commands !== undefined && !isPath) return [`${name} ${command.name} has no command ${next}`];
  if (command.passThrough === true || command.commands !== undefined) return [];
  const known = optionsOf(command);
  const given = words.flatMap((word) => /^(?:--[a-z][a-z0-9-]*|-[a-zA-Z]$)/.exec(word)?.[0] ?? []);
  return given.filter((option) => !known.has(option)).map((option) => `${name} ${command.name} has no option ${option}`);
}

test("each YAML example of the pages is a resource or a configuration that is accepted", async () => {
  const examples = pages.flatMap((page) => fencedBlocks(page, "yaml"));
  expect(examples.length).toBeGreaterThan(30);
  expect(await faulty(examples, yamlProblems)).toEqual([]);
});

test("each command of ours in the shell examples of the pages is one that its program takes", async () => {
  const blocks = pages.flatMap((page) => fencedBlocks(page, "sh"));
  const dialogues = pages
    .flatMap((page) => fencedBlocks(page, "(?:console)?"))
    .map(({ place, text }) => ({
      place,
      text: text
        .split("\n")
        .flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []))
        .join("\n"),
    }));
  expect(blocks.length).toBeGreaterThan(30);
  expect(await faulty([...blocks, ...dialogues], shellProblems)).toEqual([]);
});

test("each command that a page names in a sentence is there, with its options", async () => {
  expect(await faulty(pages.flatMap(inlineCode), mentionProblems)).toEqual([]);
});

test("the examples in the help of every command are ones that their programs take", async () => {
  const all = (commands: readonly CommandSpec[]): readonly string[] =>
    commands.flatMap((command) => [...(command.examples ?? []), ...all(command.commands ?? [])]);
  const examples = Object.values(programs).flatMap((spec) => all(spec.commands).map((text) => ({ place: spec.name, text })));
  expect(examples.length).toBeGreaterThan(100);
  expect(await faulty(examples, shellProblems)).toEqual([]);
});

test("every make target that a page or a help names is in the Makefile", () => {
  const targets = new Set([...readFileSync(join(root, "Makefile"), "utf8").matchAll(/^([a-z][a-z-]*):/gm)].map(([, name]) => name));
  const named = pages
    .flatMap((page) => [...fencedBlocks(page, "sh"), ...inlineCode(page)])
    .flatMap(({ place, text }) => [...text.matchAll(/(?:^|&& |; )make ([a-z][a-z-]*)/gm)].map(([, target]) => ({ place, target })));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ target }) => !targets.has(target))).toEqual([]);
});

/** The anchor that a heading has. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

test("every link of a page leads to a file, and to a heading of it", () => {
  const broken = [...pages, "ARCHITECTURE.md", "CHANGELOG.md"].flatMap((page) =>
    [...readPage(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [path = "", heading] = link.split("#");
        const target = path === "" ? page : join(dirname(page), path);
        if (!existsSync(join(root, target))) return true;
        const headings = target.endsWith(".md") ? [...readPage(target).matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) => anchor(text)) : [];
        return heading !== undefined && !headings.includes(heading);
      })
      .map((link) => `${page}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test("every value of the chart that a page sets is one of its values", () => {
  const values: unknown = parse(readFileSync(join(root, "charts/platform-kube-agent/values.yaml"), "utf8"));
  const named = pages.flatMap((page) =>
    [...readPage(page).matchAll(/--set(?:-file|-string|-json)? ([^\s`]+)/g)].flatMap(([, list = ""]) =>
      list.split(",").map((one) => ({ page, path: one.split(/[=[{]/)[0] ?? "" })),
    ),
  );
  const isThere = (path: string): boolean =>
    path.split(".").reduce<unknown>((at, key) => (typeof at === "object" && at !== null ? (at as Fields)[key] : undefined), values) !== undefined;
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter(({ path }) => !isThere(path))).toEqual([]);
});

/** What the programs print: their texts, without places for values. */
function ownTexts(): readonly Example[] {
  const sources = readSources(root).filter(({ path }) => /^(agent|cli|control|core|updater|web|programs)\//.test(path) && !path.includes(".test."));
  return sources.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, at) =>
      [...line.matchAll(/"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)/g)].map(([, plain, template]) => ({
        place: `${path}:${at + 1}`,
        text: (plain ?? template ?? "").replaceAll(/\$\{[^}]*\}/g, "X"),
      })),
    ),
  );
}

test("each command that a message of ours names is there, with its options", async () => {
  const mentions = ownTexts().flatMap(({ place, text }) =>
    [...text.matchAll(/\b(?:tsh|tctl|platform) [^;`()'"|]*/g)].map(([mention]) => ({ place, text: mention.replace(/[.,:]? ?$/, "") })),
  );
  const named = mentions.filter(({ text }) => {
    const [name = "", first = ""] = text.split(" ");
    return programs[name]?.commands.some((command) => command.name === first);
  });
  expect(named.length).toBeGreaterThan(200);
  expect(await faulty(named, mentionProblems)).toEqual([]);
});
