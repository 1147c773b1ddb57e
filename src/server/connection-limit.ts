/** How many connections a server keeps open. */
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import { attempt } from "../core/error.ts";

const DEFAULT_CONNECTIONS = 5000;
/** Tools need descriptors too: for files, pipes and connections. */
const MIN_RESERVE = 12;
/** A burst of half as many clients is accepted at once. Those beyond it try again after a second. */
const MAX_EXTRA = 8192;
/** Node raises the limit of its process to what the system allows, which is usually far more than this. */
const DEFAULT_FREE = 10_000;

/** Connections over the limit get 503 for their first request; those over the second limit are closed. */
export class ConnectionLimit {
  readonly #server: Server;
  readonly #configured: number | undefined;
  #max = DEFAULT_CONNECTIONS;
  #open = 0;
  readonly #refused = new WeakSet<Socket>();

  constructor(server: Server, { connections, onDrop }: { connections?: number; onDrop(): void }) {
    this.#server = server;
    this.#configured = connections;
    server.on(server instanceof SecureServer ? "secureConnection" : "connection", (socket: Socket) => {
      if (++this.#open > this.#max) this.#refused.add(socket);
      socket.once("close", () => this.#open--);
    });
    server.on("drop", onDrop);
  }

  /**
   * Call before the server listens: what it has opened until then it keeps. Returns how many clients may wait to be accepted. Node
   * accepts all of them in one turn of the event loop, before it can answer one, so they need descriptors together.
   */
  apply(): number {
    const free = freeDescriptors() ?? DEFAULT_FREE;
    const available = free - Math.max(MIN_RESERVE, Math.floor(free / 4));
    this.#max = Math.max(1, Math.min(this.#configured ?? DEFAULT_CONNECTIONS, Math.floor(available / 2)));
    const extra = Math.max(4, Math.min(MAX_EXTRA, available - this.#max));
    this.#server.maxConnections = this.#max + extra;
    return Math.floor(extra / 2);
  }

  /** Whether the request must be refused, because its connection is one too many. */
  isOver({ socket }: IncomingMessage, outgoing: ServerResponse): boolean {
    // Nearly full: others need the connection more than its client needs to keep it.
    if (this.#open * 10 > this.#max * 9) outgoing.shouldKeepAlive = false;
    return this.#refused.has(socket);
  }
}

/** How many more descriptors this process may open. Undefined if the system does not tell. */
function freeDescriptors(): number | undefined {
  return attempt(() => {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    return limit === undefined ? undefined : Number(limit) - readdirSync("/proc/self/fd").length;
  });
}
