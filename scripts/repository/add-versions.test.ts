import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addVersions } from "./add-versions.ts";

const charts = { folder: "charts", name: "chart" };
let folder: string;
let addition: { fresh: string; before: string; packages: string; prereleases: boolean };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "versions-"));
  addition = { fresh: join(folder, "fresh"), before: join(folder, "before"), packages: join(folder, "packages"), prereleases: false };
  for (const path of [addition.fresh, addition.before, addition.packages]) await mkdir(path);
  await mkdir(join(addition.before, "charts"));
});
afterEach(async () => await rm(folder, { recursive: true }));

const publish = async (name: string, text: string) => await writeFile(join(addition.before, "charts", name), text);
const offer = async (name: string, text: string) => await writeFile(join(addition.packages, name), text);

test("the files of the publication before stay, and new releases join them", async () => {
  await publish("chart-1.0.0.tgz", "one");
  await offer("chart-1.0.0.tgz", "one");
  await offer("chart-1.1.0.tgz", "two");
  for (const other of ["chart-x.tgz", "chart-1.2.0.zip", "other-1.2.0.tgz", "chart.tgz"]) await offer(other, "other");
  expect(await addVersions(addition, charts)).toEqual({ files: ["chart-1.0.0.tgz", "chart-1.1.0.tgz"], left: [] });
  expect(await readFile(join(addition.fresh, "charts/chart-1.1.0.tgz"), "utf8")).toBe("two");
});

test("pre-releases are added on request, and stay once they are published", async () => {
  await publish("chart-1.0.0-rc.1.tgz", "one");
  await offer("chart-1.0.0-rc.1.tgz", "one");
  await offer("chart-1.0.0-rc.2.tgz", "two");
  expect(await addVersions(addition, charts)).toEqual({ files: ["chart-1.0.0-rc.1.tgz"], left: ["chart-1.0.0-rc.2.tgz"] });
  const next = { ...addition, fresh: join(folder, "next"), prereleases: true };
  await mkdir(next.fresh);
  expect(await addVersions(next, charts)).toEqual({ files: ["chart-1.0.0-rc.1.tgz", "chart-1.0.0-rc.2.tgz"], left: [] });
});

test("another file under a published name is refused", async () => {
  await publish("chart-1.0.0.tgz", "one");
  await offer("chart-1.0.0.tgz", "another");
  await expect(addVersions(addition, charts)).rejects.toThrow(/published already with another content/);
});

test("a first publication has nothing before it, and one without packages adds nothing", async () => {
  expect(await addVersions({ ...addition, before: undefined, packages: undefined }, charts)).toEqual({ files: [], left: [] });
});
