import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Script } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { usedOfZod } from "./bundle.ts";

const modules = resolve(import.meta.dirname, "../../node_modules");

test("of zod, a bundle has what its schemas use, with the messages in English", async () => {
  const folder = await mkdtemp(join(tmpdir(), "platform-zod-"));
  try {
    const entry = join(folder, "entry.ts");
    await symlink(modules, join(folder, "node_modules"));
    await writeFile(entry, 'import { z } from "zod";\nexport const { error } = z.strictObject({ a: z.number() }).safeParse({ a: "1", b: 2 });\n');
    const bundled = async (plugins: (typeof usedOfZod)[]): Promise<string> => {
      const built = await build({ entryPoints: [entry], bundle: true, write: false, minify: true, format: "iife", globalName: "made", plugins });
      return built.outputFiles[0]?.text ?? "";
    };
    const [whole, used] = [await bundled([]), await bundled([usedOfZod])];
    expect(used.length).toBeLessThan(whole.length / 3);
    const { issues } = new Script(`${used};made.error`).runInNewContext() as { issues: { message: string }[] };
    expect(issues.map(({ message }) => message)).toEqual(["Invalid input: expected number, received string", 'Unrecognized key: "b"']);
  } finally {
    await rm(folder, { recursive: true });
  }
});
