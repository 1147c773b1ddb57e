import { spawn } from "node:child_process";
import { platform } from "node:os";
import type { Terminal } from "./terminal.ts";

/** Whether a window would open before the person who started this, and not on another machine or nowhere. */
export function hasDesktop(
  { stdout, env }: Pick<Terminal, "stdout" | "env">,
  system: NodeJS.Platform = platform(),
): boolean {
  if (!stdout.isTTY || env["CI"] || env["SSH_CONNECTION"] || env["SSH_CLIENT"] || env["SSH_TTY"]) return false;
  if (system === "darwin" || system === "win32") return true;
  return Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"]);
}

/** Started as words, through no shell. Where it cannot be started the address was printed anyway. */
export function openBrowser(url: string, system: NodeJS.Platform = platform()): void {
  const [program, ...words] =
    system === "darwin"
      ? ["open", url]
      : system === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", url]
        : ["xdg-open", url];
  const child = spawn(program!, words, { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
