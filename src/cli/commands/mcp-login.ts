import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openHaft } from "../../host.ts";
import { UNCONFINED_WARNING } from "../../capabilities/base.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { hasDesktop, openBrowser } from "../open-browser.ts";
import { safe } from "../output.ts";
import { isInteractive } from "../terminal.ts";

export const command = defineCommand({
  examples: [["haft mcp login linear", "sign in to a remote server in your browser; its tokens are kept in the store"]],
  operands: [{ name: "NAME" }],
  options: { open: { type: "flag", about: "Open the browser, also where that is not usual" } },
  async run({ operands: [name = ""], folder, terminal, output, interrupted, options: { open } }) {
    const callback = await listenForCallback(interrupted);
    const host = await openHaft(folder, {
      env: terminal.env,
      onWarning: (warning) => warning.startsWith(UNCONFINED_WARNING) || output.warn(safe(warning)),
      mcpSignIn: {
        redirectUrl: callback.url,
        async onAuthorize({ url }) {
          output.notice(`Sign in here, then come back: ${safe(url.href)}`);
          if (open || (isInteractive(terminal) && hasDesktop(terminal))) openBrowser(url.href);
        },
      },
    });
    try {
      await host.mcp.settled();
      if (await host.mcp.signIn(name)) {
        output.info(`"${name}" needs no sign-in.`);
        return EXIT.done;
      }
      const status = await host.mcp.finishSignIn(name, await callback.returned);
      output.data(status, () => [`${safe(name)}: ${status.state}, ${status.tools.length} tools`]);
      return status.state === "ready" ? EXIT.done : EXIT.unauthorized;
    } finally {
      callback.close();
      await host.close();
    }
  },
});

interface Callback {
  url: string;
  /** The address that the browser came back to. */
  returned: Promise<string>;
  close(): void;
}

/** One page on loopback, for as long as the sign-in takes. What it is told is judged by the sign-in, not here. */
async function listenForCallback(signal: AbortSignal): Promise<Callback> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  const returned = new Promise<string>((resolve, reject) => {
    server.on("request", ({ url: path = "" }, response) => {
      const isIt = path.startsWith("/callback?");
      response.writeHead(isIt ? 200 : 404, { "content-type": "text/plain; charset=utf-8" });
      response.end(isIt ? "Signed in, as far as this page knows. You can close it.\n" : "Nothing is here.\n");
      if (isIt) resolve(new URL(path, url).href);
    });
    signal.addEventListener("abort", () => reject(new Error("The sign-in was interrupted.")), { once: true });
  });
  // Nobody waits for it where no sign-in was needed.
  returned.catch(() => undefined);
  return { url, returned, close: () => server.close().closeAllConnections() };
}
