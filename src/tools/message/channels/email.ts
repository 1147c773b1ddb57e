import { toolError } from "../../../core/error.ts";
import {
  type ChannelKind,
  type ChannelRequest,
  type ChannelSettings,
  type ChannelEnvironment,
  type Delivery,
  refusedBy,
  unknownOutcome,
} from "../channel.ts";
import { importInstalled } from "../../../schema/load-package.ts";

const DEADLINE_MS = 30_000;

/** Uses the user's mail server (SMTP). Targets are addresses, separated by commas. */
export const emailChannel: ChannelKind = {
  type: "email",
  hosts: (settings) => (settings.host ? [`${settings.host}:${portOf(settings)}`] : []),
  open(settings, environment) {
    const { host, from } = settings;
    const missing = [...(host ? [] : ["`host` to your mail server"]), ...(from ? [] : ["`from` to your address"])];
    return {
      problem: missing.length === 0 ? undefined : `set ${missing.join(" and ")}`,
      handlers: {
        send: (request) => post(settings, environment, request),
        reply: (request) => post(settings, environment, request),
      },
    };
  },
};

function portOf({ port, secure }: ChannelSettings): number {
  return port ?? (secure ? 465 : 587);
}

async function post(
  settings: ChannelSettings,
  environment: ChannelEnvironment,
  request: ChannelRequest,
): Promise<Delivery> {
  const { host = "", secure = false, allowInsecure = false, user, password, from } = settings;
  const { address, text, subject, messageId, signal } = request;
  const { createTransport } = await loadMailer();
  let isConnected = false;
  const transport = createTransport({
    host,
    port: portOf(settings),
    secure,
    requireTLS: !secure && !allowInsecure,
    auth: user === undefined ? undefined : { user, pass: password ?? "" },
    connectionTimeout: DEADLINE_MS,
    greetingTimeout: DEADLINE_MS,
    socketTimeout: DEADLINE_MS,
    // Never read files or URLs that a message names.
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket(_options, done) {
      environment.openSocket({ host, port: portOf(settings) }, signal).then(
        (connection) => {
          isConnected = true;
          done(null, { connection });
        },
        (error: Error) => done(error, {}),
      );
    },
  });
  const stop = (): void => transport.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const sent = await transport.sendMail({
      from,
      to: address,
      subject: titleOf(subject || text.trimStart()),
      text,
      inReplyTo: messageId || undefined,
      references: messageId || undefined,
    });
    const refused = sent.rejected.map(String);
    return {
      summary: `The mail server accepted it for ${sent.accepted.length} of ${sent.accepted.length + refused.length} addresses. Whether it arrives is not known.`,
      messageId: sent.messageId,
      refused: refused.length > 0 ? refused : undefined,
    };
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    throw explain(thrown, isConnected);
  } finally {
    signal.removeEventListener("abort", stop);
    transport.close();
  }
}

/** Before the body, nothing was sent for certain. After it, only a response is conclusive. `CONN` may occur at any time. */
const BEFORE_BODY = /^(?:EHLO|HELO|LHLO|STARTTLS|AUTH|MAIL FROM|RCPT TO)/;

function explain(thrown: unknown, isConnected: boolean): unknown {
  const { code = "", command = "", response, message } = thrown as Record<string, string | undefined>;
  if (thrown instanceof Error && thrown.name === "ToolError") return thrown;
  const why = (response ?? message ?? "").replace(/\s+/g, " ").slice(0, 200);
  if (response !== undefined) return refusedBy("The mail server", why, code === "EAUTH");
  if (!isConnected || BEFORE_BODY.test(command) || code === "ETLS" || code === "EDNS" || code === "EENVELOPE") {
    return toolError("unavailable", `The mail server could not be used: ${why}. Nothing was sent.`, {
      next: "Try again later, or tell the user to check the settings of this channel.",
    });
  }
  return unknownOutcome("the mail server", why || "the connection was lost");
}

/** The first line only: it becomes a header. */
function titleOf(text: string): string {
  return text
    .replace(/[\r\n].*$/s, "")
    .slice(0, 200)
    .toWellFormed();
}

export async function loadMailer(
  load: () => Promise<typeof import("nodemailer")> = () => importInstalled("nodemailer"),
): Promise<typeof import("nodemailer")> {
  try {
    return await load();
  } catch (cause) {
    throw toolError("missing_package", 'E-mail needs the package "nodemailer"', {
      next: "Run: npm install nodemailer",
      cause,
    });
  }
}
