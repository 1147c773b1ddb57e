import { toolError } from "../../core/error.ts";
import { hashOf } from "./tool-definition.ts";

/** What the protocol lets tools be called. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** Of the APIs of models. */
const MAX_LENGTH = 64;

/** `mcp__server__tool`: no server can take the name of a built-in tool, or of another server's. */
export function exposedName(server: string, tool: string): string {
  if (!TOOL_NAME.test(tool)) {
    throw toolError("name_denied", `${JSON.stringify(tool.slice(0, 100))} is no name for a tool`, {
      next: "Names have up to 64 letters, digits and _ . -",
    });
  }
  const name = `mcp__${serverKey(server)}__${tool.replaceAll(".", "_")}`;
  if (name.length <= MAX_LENGTH) return name;
  return `${name.slice(0, MAX_LENGTH - 9)}_${hashOf(`${server}\n${tool}`).slice(0, 8)}`;
}

/** Without `__`, which divides server from tool. */
export function serverKey(server: string): string {
  return server.replace(/[^A-Za-z0-9-]+/g, "_").replace(/^_+|_+$/g, "") || "unnamed";
}
