import { createServer } from "node:http";
import { expect, test } from "vitest";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { openBrowser } from "../../../../test/inside/web-browser.ts";
import { openWebTerminal } from "../../../../test/inside/web-terminal.ts";
import { kubeWorld } from "../../kube-front/testing/kube-world.ts";

const place = { type: "pod", cluster: "prod", namespace: "shop", pod: "web-1", container: "app", command: [], cols: 80, rows: 24 };

test("a shell that an agent refuses, its stream or the request, is not tried over SPDY; one that the API server refuses is", async () => {
  let message = "access denied: ann may not exec";
  const upgrades: (string | undefined)[] = [];
  const server = createServer().on("upgrade", (request, socket) => {
    upgrades.push(request.headers.upgrade);
    const text = JSON.stringify({ kind: "Status", message, code: 403 });
    socket.end(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`);
  });
  await using world = await kubeWorld({});
  world.serve = (client) => void server.emit("connection", client);
  const ann = await openBrowser(world.cluster, "web-ann", ["dev"]);
  const refused = async () => {
    world.reached.splice(0);
    upgrades.splice(0);
    const terminal = await openWebTerminal(world.cluster, ann, place);
    expect(await terminal.closed).toMatchObject({ error: { code: "denied", message } });
    return { reached: world.reached.length, upgrades: [...upgrades] };
  };
  world.refusal = () => ({ ok: false, error: new PlatformError("denied", message) });
  expect(await refused()).toEqual({ reached: 1, upgrades: [] });
  world.refusal = () => undefined;
  expect(await refused()).toEqual({ reached: 1, upgrades: ["websocket"] });
  message = 'pods "web-1" is forbidden: User "ann" cannot get resource "pods/exec"';
  expect(await refused()).toEqual({ reached: 2, upgrades: ["websocket", "SPDY/3.1"] });
});
