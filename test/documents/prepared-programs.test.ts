import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { readSources } from "../architecture/source-tree.ts";

const root = resolve(import.meta.dirname, "../..");
/** On every Debian, or in the package of another program that is installed. */
const always: ReadonlySet<string> = new Set(["tar", "dpkg", "dpkg-deb", "ssh-keygen"]);

/** Programs without which a test is skipped. */
function skippedWithout(): readonly string[] {
  const tests = readSources(root).filter(({ path, text }) => path.endsWith(".test.ts") && text.includes("hasProgram("));
  const single = tests.flatMap(({ text }) => [...text.matchAll(/hasProgram\("([^"]+)"\)/g)].map(([, name = ""]) => name));
  const lists = tests.flatMap(({ text }) => [...text.matchAll(/\[([^\]]*)\]\.filter\(\(name\) => !hasProgram\(name\)\)/g)]);
  const listed = lists.flatMap(([, names = ""]) => [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name));
  return [...new Set([...single, ...listed])];
}

/** Programs that `prepare.sh test` looks for, and those whose package it can name. */
function prepared(): readonly [looked: ReadonlySet<string>, named: ReadonlySet<string>] {
  const text = readFileSync(join(root, "scripts/prepare.sh"), "utf8");
  const words = (list = ""): readonly string[] => list.trim().split(/\s+/);
  const arrays = new Map([...text.matchAll(/^(\w+)=\(([^()]*)\)$/gm)].map(([, name = "", list]) => [name, words(list)]));
  const line = words(/^ {2}test\) tools\+=\((.*)\) ;;$/m.exec(text)?.[1]);
  const looked = [...words(/^tools=\((.*)\)$/m.exec(text)?.[1]), ...line].flatMap((word) => {
    const array = /^"\$\{(\w+)\[@\]\}"$/.exec(word)?.[1];
    return array === undefined ? [word] : (arrays.get(array) ?? []);
  });
  return [new Set(looked), new Set([...text.matchAll(/\[([^\]@]+)\]=/g)].map(([, name = ""]) => name))];
}

test("make test installs every program without which a test is skipped", () => {
  const [looked, named] = prepared();
  const wanted = skippedWithout().filter((name) => !always.has(name));
  expect(wanted).toEqual(expect.arrayContaining(["nginx", "skopeo", "chromium"]));
  expect(wanted.filter((name) => !looked.has(name) || !named.has(name))).toEqual([]);
});
