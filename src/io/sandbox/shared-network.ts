import { type ChildProcess, spawn } from "node:child_process";
import { Server, type Socket } from "node:net";
import { buildNetworkTable, PROXY_PORT } from "./build-table.ts";
import type { TableFolder } from "./engines.ts";
import type { Engine } from "./self-test.ts";

/** The hosts that confined commands may reach, and who serves their connections. */
export interface SandboxProxy {
  hosts: readonly string[];
  /** Gets each connection that a confined command opens to the proxy. */
  accept(socket: Socket): void;
}

/** How long a process that only makes a few system calls may take. */
const START_MS = 10_000;

/**
 * A network namespace that commands share. Its only way out is a port of its loopback, on which this process listens:
 * a helper process creates the namespace and the listening socket in it, and sends the socket to this process.
 */
export class SharedNetwork {
  readonly #engine: Engine;
  readonly #tables: TableFolder;
  readonly #proxy: SandboxProxy;
  #opening: Promise<number> | undefined;
  #helper: ChildProcess | undefined;
  #server: Server | undefined;

  constructor(engine: Engine, { tables, proxy }: { tables: TableFolder; proxy: SandboxProxy }) {
    this.#engine = engine;
    this.#tables = tables;
    this.#proxy = proxy;
  }

  /** Variables that make programs use the proxy. */
  get env(): Record<string, string> {
    const names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    const address = `http://127.0.0.1:${PROXY_PORT}`;
    return { ...Object.fromEntries(names.map((name) => [name, address])), NODE_USE_ENV_PROXY: "1" };
  }

  /** The process whose namespace commands join. */
  open(): Promise<number> {
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.close();
      throw error;
    });
    return this.#opening;
  }

  close(): void {
    this.#server?.close();
    // It ends when its input is closed.
    this.#helper?.stdin?.end();
    if (this.#helper?.connected) this.#helper.disconnect();
    this.#helper?.kill("SIGKILL");
    this.#server = undefined;
    this.#helper = undefined;
    this.#opening = undefined;
  }

  async #start(): Promise<number> {
    const [program = "", ...args] = this.#engine.runner;
    const table = this.#tables.write(buildNetworkTable(this.#engine.machine));
    const helper = spawn(program, [...args, table, "/bin/true"], {
      stdio: ["pipe", "ignore", "ignore", "ipc"],
      env: {},
    });
    this.#helper = helper;
    const server = await new Promise<Server>((resolve, reject) => {
      const fail = (why: string): void => reject(new Error(`The network of the sandbox could not be created: ${why}`));
      const timer = setTimeout(fail, START_MS, "no answer");
      helper.once("error", (error) => fail(error.message));
      helper.once("exit", (code) => {
        clearTimeout(timer);
        this.close();
        fail(`exit code ${code}`);
      });
      helper.once("message", (_message, handle) => {
        clearTimeout(timer);
        if (handle instanceof Server) resolve(handle);
        else fail("no socket was sent");
      });
    });
    server.on("connection", (socket) => this.#proxy.accept(socket));
    server.unref();
    this.#server = server;
    helper.unref();
    helper.channel?.unref();
    if (helper.pid === undefined) throw new Error("The network of the sandbox has no process");
    return helper.pid;
  }
}
