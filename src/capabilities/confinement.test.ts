import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { LoadedConfig } from "../config/load-config.ts";
import { openConfinement } from "./confinement.ts";

const configured = (sandbox: LoadedConfig["value"]["sandbox"], exceptions?: string[]) =>
  ({ value: { sandbox, network: { exceptions } } }) as Pick<LoadedConfig, "value">;
const missing = () => ({
  tests: [{ profile: "look", engine: "landlock", problem: "this kernel has no Landlock" } as const],
});

test("if it is off, nothing is searched for", async () => {
  const never = () => {
    throw new Error("looked");
  };
  expect((await openConfinement(configured({ mode: "off" }), never)).sandbox).toBe(false);
});

test("if it is required and not available, opening fails and says what to do", async () => {
  const opened = openConfinement(configured({ mode: "required" }), missing);
  await expect(opened).rejects.toThrow(
    /cannot be: this kernel has no Landlock\. Make it work, or set sandbox\.mode to auto/,
  );
});

test("by default the host opens without an engine, and the sandbox knows why", async () => {
  const { sandbox } = await openConfinement(configured({ autoAllow: true }), missing);
  expect(sandbox && sandbox.engines?.()).toEqual(missing());
});

test("the settings reach the sandbox, with a proxy if hosts are allowed", async () => {
  const settings = { autoAllow: true, memoryMb: 2, processes: 3, allowedHosts: ["example.com"] };
  const { sandbox, close } = await openConfinement(configured(settings), missing);
  expect(sandbox).toMatchObject({ autoAllow: true, memoryBytes: 2 * 1024 * 1024, processes: 3 });
  expect(sandbox && sandbox.proxy).toMatchObject({ hosts: ["example.com"] });
  await close();
});

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => serve(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("a host that is taken from the list is closed to commands that run, and a new one is not opened to them", async () => {
  const target = await listen(() => undefined);
  const exceptions = [`localhost:${target}`, `127.0.0.1:${target}`];
  const opened = await openConfinement(configured({ allowedHosts: ["localhost"] }, exceptions), missing);
  onTestFinished(() => opened.close());
  const { sandbox, limit } = opened;
  const proxy = await listen((socket) => sandbox && sandbox.proxy?.accept(socket));
  const tunnel = async (host: string): Promise<{ socket: Socket; answer: string }> => {
    const socket = connect(proxy, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(`CONNECT ${host}:${target} HTTP/1.1\r\n\r\n`);
    const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
    return { socket, answer: answer.toString().slice(9, 12) };
  };
  const { socket, answer } = await tunnel("localhost");
  expect(answer).toBe("200");
  limit(configured({ allowedHosts: ["localhost", "127.0.0.1"] }, exceptions));
  expect((await tunnel("127.0.0.1")).answer).toBe("403");
  expect(socket.closed).toBe(false);
  limit(configured({ allowedHosts: ["127.0.0.1"] }, exceptions));
  await expect.poll(() => socket.closed).toBe(true);
  expect((await tunnel("localhost")).answer).toBe("403");
});

test.each(["api.example.com:443", "\u0430pple.com", "2130706433", "a b", "http://a", ""])(
  "%j is refused as an allowed host: it reads as something else than it would allow",
  async (host) => {
    await expect(openConfinement(configured({ allowedHosts: ["*.ok.example", host] }), missing)).rejects.toThrow(
      /sandbox\.allowedHosts\[1\].*not a host name/s,
    );
  },
);
