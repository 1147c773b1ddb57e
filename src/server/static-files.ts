import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { acceptedEncoding, COMPRESS, type Encoding } from "../api/http-response.ts";
import { ASSET_HEADERS, PAGE_HEADERS } from "./security-headers.ts";

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
  compressed: Map<Encoding, Promise<Buffer>>;
}

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
    const encoding = COMPRESSIBLE.test(path) || file === index ? acceptedEncoding(incoming) : undefined;
    const bytes = encoding ? await compress(file, encoding) : file.bytes;
    if (encoding) outgoing.setHeader("content-encoding", encoding);
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
        ...(/\.(?:js|css)$/.test(path) ? ASSET_HEADERS : PAGE_HEADERS),
        "content-type": TYPES[extname(path)] ?? "application/octet-stream",
        "cache-control": HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
      },
      compressed: new Map(),
    });
  }
  // The build compresses what comes first.
  for (const [path, file] of files) {
    const built = files.get(`${path}.br`);
    if (built) file.compressed.set("br", Promise.resolve(built.bytes));
  }
  return files;
}

function compress({ bytes, compressed }: ServedFile, encoding: Encoding): Promise<Buffer> {
  let result = compressed.get(encoding);
  if (!result) compressed.set(encoding, (result = COMPRESS[encoding](bytes)));
  return result;
}
