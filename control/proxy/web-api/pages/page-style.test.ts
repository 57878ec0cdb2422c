import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { pageStyle } from "./page-style.ts";

/** Its variables, by name. */
function variables(css: string): Map<string, string> {
  return new Map([...css.matchAll(/(--[a-z-]+): ([^;]+);/g)].map(([, name = "", value = ""]) => [name, value]));
}

test("the colours are those of the Web UI, and each that is used is there", () => {
  const own = variables(pageStyle);
  const ofUi = variables(readFileSync(new URL("../../../../web/style/colours.css", import.meta.url), "utf8"));
  expect(own.size).toBeGreaterThan(10);
  expect([...own].filter(([name, value]) => ofUi.get(name) !== value)).toEqual([]);
  const used = [...pageStyle.matchAll(/var\((--[a-z-]+)\)/g)].map(([, name = ""]) => name);
  expect(used.filter((name) => !own.has(name))).toEqual([]);
});
