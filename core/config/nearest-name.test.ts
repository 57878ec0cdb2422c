import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

test("the nearest name is suggested, and none for a distant one", () => {
  const known = ["nodename", "data_dir", "proxy_server"];
  expect(nearestName("node-name", known)).toBe("nodename");
  expect(nearestName("Data_Dir", known)).toBe("data_dir");
  expect(nearestName("proxyserver", known)).toBe("proxy_server");
  expect(nearestName("entirely_else", known)).toBeUndefined();
});
