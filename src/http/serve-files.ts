import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { PAGE_HEADERS } from "./security-headers.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
  ".txt": "text/plain; charset=utf-8",
};
const PACKABLE = /\.(?:html|js|css|json|webmanifest|svg|wasm|txt)$/;

/** `index-B3kq9aZ1.js`: the build puts a hash of the content into the name. */
const HASHED = /^\/assets\/.+[-.][\w-]{8,}\.\w+$/;

interface ServedFile {
  bytes: Buffer;
  etag: string;
  headers: Readonly<Record<string, string>>;
  packed: Map<string, Promise<Buffer>>;
}

const PACKERS: readonly [string, (bytes: Buffer) => Promise<Buffer>][] = [
  ["br", promisify(brotliCompress) as (bytes: Buffer) => Promise<Buffer>],
  ["gzip", promisify(gzip) as (bytes: Buffer) => Promise<Buffer>],
];

/**
 * The files of a folder, read once: what is asked for is looked up among them, so that no request reaches the disk. False
 * where there is nothing to serve.
 */
export function createFileServer(folder: string) {
  const files = readFolder(folder);
  const index = files.get("/index.html");

  return async (incoming: IncomingMessage, outgoing: ServerResponse, path: string): Promise<boolean> => {
    // The console finds its own way: every address without an extension is the page.
    const file = files.get(path) ?? (extname(path) === "" ? index : undefined);
    if (!file) return false;
    const { etag, headers } = file;
    if (incoming.headers["if-none-match"] === etag) {
      outgoing.writeHead(304, { ...headers, etag }).end();
      return true;
    }
    const packer =
      PACKABLE.test(path) || file === index ? PACKERS.find(([name]) => accepts(incoming, name)) : undefined;
    const bytes = packer ? await pack(file, packer) : file.bytes;
    outgoing.writeHead(200, {
      ...headers,
      etag,
      vary: "accept-encoding",
      ...(packer ? { "content-encoding": packer[0] } : {}),
      "content-length": bytes.length,
    });
    outgoing.end(bytes);
    return true;
  };
}

function readFolder(folder: string): Map<string, ServedFile> {
  const files = new Map<string, ServedFile>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const path = `/${file.slice(folder.length).replaceAll("\\", "/").replace(/^\/+/, "")}`;
    const bytes = readFileSync(file);
    files.set(path, {
      bytes,
      etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
      headers: {
        ...PAGE_HEADERS,
        "content-type": TYPES[extname(path)] ?? "application/octet-stream",
        "cache-control": HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
      },
      packed: new Map(),
    });
  }
  return files;
}

function pack(file: ServedFile, [name, packer]: (typeof PACKERS)[number]): Promise<Buffer> {
  let packed = file.packed.get(name);
  if (!packed) file.packed.set(name, (packed = packer(file.bytes)));
  return packed;
}

function accepts({ headers }: IncomingMessage, encoding: string): boolean {
  const accepted = headers["accept-encoding"];
  return typeof accepted === "string" && new RegExp(`\\b${encoding}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\b)`).test(accepted);
}
