import { runInNewContext } from "node:vm";
import { transform } from "esbuild";
import { expect, test } from "vitest";
import { nameAtLoad } from "./name-at-load.ts";

const source = `
  function declared() { const inner = () => 1; return inner; }
  const classLater = () => class Late {};
  class Early {}
  result = { declared, classLater, Early };
`;

interface Made {
  readonly declared: () => () => number;
  readonly classLater: () => new () => object;
  readonly Early: new () => object;
}

async function bundled(): Promise<string> {
  const { code } = await transform(source, { minify: true, keepNames: true, format: "cjs" });
  return code;
}

function run(code: string): Made {
  const context: { result?: Made } = {};
  runInNewContext(`(function () {${code}})()`, context);
  if (context.result === undefined) throw new Error("the bundle has no result");
  return context.result;
}

test("what is made while loading keeps its name", async () => {
  const { declared, Early } = run(nameAtLoad(await bundled()));
  expect(declared.name).toBe("declared");
  expect(Early.name).toBe("Early");
});

test("a class that is made later keeps its name", async () => {
  expect(run(nameAtLoad(await bundled())).classLater().name).toBe("Late");
});

test("a closure that is made later is not named, and does what it did", async () => {
  const code = await bundled();
  expect(run(code).declared().name).toBe("inner");
  const inner = run(nameAtLoad(code)).declared();
  expect(inner.name).not.toBe("inner");
  expect(inner()).toBe(1);
});

test("a bundle without names is refused: esbuild may write them in another way", () => {
  expect(() => nameAtLoad("var a=1;")).toThrow("keepNames");
});
