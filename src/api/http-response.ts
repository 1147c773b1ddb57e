/** How results are written to a Node response: JSON, text, JSON lines and server-sent events. */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Endpoint, EventStream } from "../contracts/contract.ts";
import type { Identity } from "../contracts/identity.ts";
import { encodeFrames, KEEP_ALIVE } from "./event-stream.ts";
import { FrameQueue } from "./handlers/frame-queue.ts";
import { toApiError, toErrorAnswer } from "./handlers/to-api-error.ts";
import type { OpenStreams } from "./open-streams.ts";

/** A shorter answer fits into one or two packets. */
const MIN_COMPRESSED = 2048;
/** A few milliseconds for a megabyte. */
const QUICK = { [constants.BROTLI_PARAM_QUALITY]: 4 };

export interface ResponseOptions {
  streams: OpenStreams;
  /** Of every response, for security: names and values in turn. */
  headers(incoming: IncomingMessage): readonly string[];
  /** Whether the identity may still read: asked at each heartbeat of a stream. */
  isCurrent(identity: Identity): Promise<boolean>;
  /** Everything that was refused or failed. A fault is given as it was thrown. */
  onError(incoming: IncomingMessage, status: number, reason: unknown): void;
}

export class HttpResponse {
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #options: ResponseOptions;
  /** Added to the headers of every response, or instead of them. */
  #headers: Record<string, string> | undefined;
  #controller: AbortController | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, options: ResponseOptions) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#options = options;
  }

  /** Aborted when the client disconnects before it has the whole response. */
  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal;
    const controller = (this.#controller = new AbortController());
    this.onDisconnect(() => controller.abort());
    return controller.signal;
  }

  /** Arrow: it is passed on. */
  readonly onDisconnect = (listener: () => void): void => {
    const outgoing = this.#outgoing;
    const onClose = (): void => {
      if (!outgoing.writableFinished) listener();
    };
    if (outgoing.destroyed) onClose();
    else outgoing.once("close", onClose);
  };

  readonly setHeader = (name: string, value: string): void => {
    (this.#headers ??= {})[name] = value;
  };

  /** Calls the handler and writes what it returns, in the way that the contract says. Rejects if nothing was sent yet. */
  async send(endpoint: Endpoint, identity: Identity, handle: () => unknown): Promise<void> {
    const { stream, lines, text, status = 200 } = endpoint;
    if (stream) await this.#sendEvents(stream, identity, handle);
    else if (lines) await this.#sendLines((await handle()) as AsyncIterable<unknown>);
    else if (text === undefined) await this.#sendJson(JSON.stringify(await handle()), status);
    else this.#sendText(String(await handle()), `${text}; charset=utf-8`, status);
  }

  sendError(thrown: unknown): void {
    const error = toApiError(thrown);
    const status = error?.status ?? 500;
    const isFault = error === undefined || error.code === "internal";
    this.#options.onError(this.#incoming, status, isFault ? thrown : error.message);
    if (this.#outgoing.headersSent) return void this.#outgoing.destroy();
    for (const [name, value] of Object.entries(error?.headers ?? {})) this.setHeader(name, value);
    this.#sendText(JSON.stringify(toErrorAnswer(thrown)), "application/json", status);
  }

  /** For browsers: other programs are mostly on this machine. Only what can be read again: a new token is an answer to POST. */
  async #sendJson(text: string, status: number): Promise<void> {
    const { method, headers } = this.#incoming;
    const isLarge = method === "GET" && text.length >= MIN_COMPRESSED && headers["sec-fetch-site"] !== undefined;
    const encoding = isLarge ? acceptedEncoding(this.#incoming) : undefined;
    if (!encoding) return this.#sendText(text, "application/json", status);
    const bytes = await COMPRESS[encoding](text, { params: QUICK });
    this.setHeader("content-encoding", encoding);
    this.setHeader("vary", "accept-encoding, origin");
    this.#sendText(bytes, "application/json", status);
  }

  #sendText(text: string | Buffer, type: string, status: number): void {
    if (this.#outgoing.destroyed) return;
    this.#writeHead(status, "content-type", type, "content-length", String(Buffer.byteLength(text)));
    this.#outgoing.end(text);
  }

  /** As fast as the client reads. */
  async #sendLines(lines: AsyncIterable<unknown>): Promise<void> {
    const outgoing = this.#outgoing;
    this.#writeHead(200, "content-type", "application/jsonl; charset=utf-8");
    for await (const line of lines) {
      if (outgoing.destroyed) return;
      if (outgoing.write(`${JSON.stringify(line)}\n`)) continue;
      await once(outgoing, "drain", { signal: this.signal }).catch(() => undefined);
    }
    outgoing.end();
  }

  /**
   * Frames are sent as they come, also to a client that does not read: they are kept in memory until then, and the client is
   * disconnected when that is too much.
   */
  async #sendEvents(stream: EventStream, identity: Identity, handle: () => unknown): Promise<void> {
    const outgoing = this.#outgoing;
    const { streams, isCurrent } = this.#options;
    const { signal } = this;
    const isOpen = (): boolean => outgoing.headersSent && !outgoing.destroyed && !outgoing.writableEnded;
    const send = (chunk: string | Uint8Array): void => {
      if (!isOpen()) return;
      outgoing.write(chunk);
      if (outgoing.writableLength > streams.maxUnread) outgoing.destroy();
    };
    const close = (): void => {
      if (outgoing.headersSent) outgoing.end();
      this.#controller?.abort();
    };
    const remove = streams.add({
      heartbeat: () => {
        send(KEEP_ALIVE);
        void isCurrent(identity).then((current) => current || close());
      },
      close,
      // One that was requested with GET can be read again.
      isAwaited: () => this.#incoming.method !== "GET" && !outgoing.writableEnded,
    });
    try {
      const frames = (await handle()) as AsyncIterable<unknown>;
      if (outgoing.destroyed) return;
      // Proxies that collect a response before they forward it would hold back events.
      this.#writeHead(200, "content-type", "text/event-stream; charset=utf-8", "x-accel-buffering", "no");
      outgoing.flushHeaders();
      // What was pushed together is encoded once for all its readers, and sent at once.
      if (frames instanceof FrameQueue) for await (const batch of frames.batches()) send(encodeFrames(stream, batch));
      else for await (const frame of frames) send(encodeFrames(stream, [frame]));
      outgoing.end();
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    } finally {
      remove();
      // Ends the handler if the stream was ended by the server.
      this.#controller?.abort();
    }
  }

  /** As a list: Node writes it as it is, and an object would be checked and copied. */
  #writeHead(status: number, ...headers: string[]): void {
    const list = this.#options.headers(this.#incoming).concat(headers);
    this.#outgoing.writeHead(status, this.#headers ? withHeaders(list, this.#headers) : list);
  }
}

export type Encoding = "br" | "gzip";

export const COMPRESS = { br: promisify(brotliCompress), gzip: promisify(gzip) } as const;

/** The best encoding that the client accepts. */
export function acceptedEncoding({ headers }: IncomingMessage): Encoding | undefined {
  const accepted = String(headers["accept-encoding"] ?? "");
  const isAccepted = (name: string) => new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\b)`).test(accepted);
  return isAccepted("br") ? "br" : isAccepted("gzip") ? "gzip" : undefined;
}

function withHeaders(list: readonly string[], headers: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1] ?? ""]] : []));
  return { ...Object.fromEntries(pairs), ...headers };
}
