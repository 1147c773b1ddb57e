import { tmpdir } from "node:os";
import { showHiddenCharacters } from "../../../io/shell/terminal-text.ts";
import type { ChannelKind, ReceivedMessage } from "../channel.ts";
import { toolError } from "../../../core/error.ts";
import { findProgram } from "../../../io/shell/find-program.ts";
import { startProcess } from "../../../io/shell/run-process.ts";

const MAX_STORED = 100;

/** Prints on the terminal of the server and stores the last messages. */
export const consoleChannel: ChannelKind = {
  type: "console",
  hasSingleTarget: true,
  open(_settings, { show, clock }) {
    const stored: (ReceivedMessage & { address: string })[] = [];
    let count = 0;
    return {
      handlers: {
        async send({ address, text, subject }) {
          const id = String(++count);
          stored.push({ id, address, from: "haft", text, at: new Date(clock.now()).toISOString() });
          if (stored.length > MAX_STORED) stored.shift();
          show(showHiddenCharacters([address && `[${address}]`, subject, text].filter(Boolean).join(" ")));
          return {
            summary: "Printed on the terminal of this server. Whether somebody saw it is not known.",
            messageId: id,
          };
        },
        async read({ address, limit }) {
          const own = stored.filter((message) => message.address === address).reverse();
          const messages = own.slice(0, limit).map(({ address: _address, ...message }) => message);
          return {
            summary: `${messages.length} of the messages printed since this server started.`,
            messages,
          };
        },
      },
    };
  },
};

/** The variables that a program needs to find the desktop. */
const DESKTOP_ENV = "PATH HOME USER DISPLAY WAYLAND_DISPLAY XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS".split(" ");
/** Title and text are arguments, so a message is never interpreted as a script. */
const APPLE_SCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
const DEADLINE_MS = 10_000;

/** A notification on the desktop of this machine. */
export const desktopChannel: ChannelKind = {
  type: "desktop",
  hasSingleTarget: true,
  open(_settings, { env }) {
    const name = process.platform === "darwin" ? "osascript" : "notify-send";
    const own = Object.fromEntries(DESKTOP_ENV.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]])));
    const program = findProgram(name, own);
    return {
      problem:
        program === undefined
          ? `there is no \`${name}\` here; on Linux it comes with libnotify (libnotify-bin)`
          : undefined,
      handlers: {
        async send({ text, subject, signal }) {
          if (program === undefined) throw toolError("unavailable", `There is no \`${name}\` on this machine.`);
          const message = [subject || "Haft", text];
          const argv =
            name === "osascript"
              ? [program, "-e", APPLE_SCRIPT, ...message]
              : [program, "--app-name=Haft", "--", ...message];
          const started = await startProcess({ argv, cwd: tmpdir(), env: own, signal, timeoutMs: DEADLINE_MS });
          const exit = await started.wait();
          if (exit.exitCode === 0)
            return { summary: "Handed to the desktop of this machine. Whether somebody saw it is not known." };
          throw toolError("failed", `\`${name}\` ended with ${exit.exitCode ?? exit.reason}: nothing was shown.`, {
            next: "There may be no desktop.",
          });
        },
      },
    };
  },
};
