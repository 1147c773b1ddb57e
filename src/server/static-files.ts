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
const COMPRESSIBLE = /\.(?:html|js|css|json|webmanifest|svg|wasm|txt)$/;

/** `index-B3kq9aZ1.js`: the build puts a hash of the content into the name. */
const HASHED = /^\/assets\/.+[-.][\w-]{8,}\.\w+$/;

interface ServedFile {
  bytes: Buffer;
  etag: string;
  headers: Readonly<Record<string, string>>;
  compressed: Map<string, Promise<Buffer>>;
}

const COMPRESSORS: readonly [string, (bytes: Buffer) => Promise<Buffer>][] = [
  ["br", promisify(brotliCompress) as (bytes: Buffer) => Promise<Buffer>],
  ["gzip", promisify(gzip) as (bytes: Buffer) => Promise<Buffer>],
];

/** Serves the files of a folder. They are read once, so no request reaches the disk. Returns false if there is no such file. */
export function createFileServer(folder: string) {
  const files = readFolder(folder);
  const index = files.get("/index.html");

  return async (incoming: IncomingMessage, outgoing: ServerResponse, path: string): Promise<boolean> => {
    // The console has its own routes: every path without an extension is its page.
    const file = files.get(path) ?? (extname(path) === "" ? index : undefined);
    if (!file) return false;
    const { etag, headers } = file;
    if (incoming.headers["if-none-match"] === etag) {
      outgoing.writeHead(304, { ...headers, etag }).end();
      return true;
    }
    const compressor =
      COMPRESSIBLE.test(path) || file === index ? COMPRESSORS.find(([name]) => accepts(incoming, name)) : undefined;
    const bytes = compressor ? await compress(file, compressor) : file.bytes;
    if (compressor) outgoing.setHeader("content-encoding", compressor[0]);
    outgoing.writeHead(200, { ...headers, etag, vary: "accept-encoding", "content-length": bytes.length });
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
      compressed: new Map(),
    });
  }
  return files;
}

function compress(file: ServedFile, [name, compressor]: (typeof COMPRESSORS)[number]): Promise<Buffer> {
  let compressed = file.compressed.get(name);
  if (!compressed) file.compressed.set(name, (compressed = compressor(file.bytes)));
  return compressed;
}

function accepts({ headers }: IncomingMessage, encoding: string): boolean {
  const accepted = headers["accept-encoding"];
  return typeof accepted === "string" && new RegExp(`\\b${encoding}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\b)`).test(accepted);
}
