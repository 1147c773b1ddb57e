// Local channels: mail over a real SMTP server, notifications by a real program, and the terminal.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { startSocket } from "../../../test/setup/local-server.ts";
import type { ChannelSettings } from "./channel.ts";
import { loadMailer } from "./channels/email.ts";
import { openMessage } from "./open-message.fixture.ts";

async function startMail(options: SMTPServerOptions = {}) {
  const mails: { to: string[]; from: string; user: unknown; source: string }[] = [];
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS"],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      password === "right" ? done(null, { user: username }) : done(new Error("535 wrong password")),
    onRcptTo: ({ address }, _session, done) =>
      address.startsWith("nobody") ? done(Object.assign(new Error("no such user"), { responseCode: 550 })) : done(),
    onData(stream, session, done) {
      let source = "";
      stream.on("data", (chunk: Buffer) => (source += chunk.toString()));
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom ? mailFrom.address : "";
        mails.push({ to: rcptTo.map(({ address }) => address), from, user: session.user, source });
        done();
      });
    },
    ...options,
  });
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { mails, port: (server.server.address() as AddressInfo).port };
}

const mailTo = (port: number, more: Partial<ChannelSettings> = {}) =>
  openMessage({
    mail: {
      type: "email",
      host: "127.0.0.1",
      port,
      allowInsecure: true,
      user: "haft",
      password: "right",
      from: "Haft <haft@example.com>",
      targets: { ada: "ada@example.com", both: "ada@example.com, nobody@example.com", none: "nobody@example.com" },
      ...more,
    },
  });

describe("e-mail", () => {
  test("is sent with the password, a subject and a reference", async () => {
    const { mails, port } = await startMail();
    const { message } = mailTo(port);
    const sent = await message({ to: "ada", text: "Line one\nline two" });
    expect(sent).toMatchObject({ success: true, details: { messageId: expect.stringMatching(/^<.+@.+>$/) } });
    expect(textOf(sent.content)).toMatch(/for 1 of 1 addresses\. Whether it arrives is not known/);
    expect(mails).toMatchObject([{ to: ["ada@example.com"], from: "haft@example.com", user: "haft" }]);
    expect(mails[0]!.source).toMatch(/^Subject: Line one/m);
    const answered = await message({ action: "reply", to: "ada", text: "more", messageId: "<a@b>", subject: "Re: x" });
    expect(answered.status).toBe("completed");
    expect(mails[1]!.source).toMatch(/^In-Reply-To: <a@b>/m);
    expect(mails[1]!.source).toMatch(/^Subject: Re: x/m);
  });

  test("reports refused addresses, and fails if all are refused", async () => {
    const { mails, port } = await startMail();
    const { message } = mailTo(port);
    const part = await message({ to: "both", text: "hi" });
    expect(part).toMatchObject({ success: true, details: { refused: ["nobody@example.com"] } });
    expect(part.metadata.warnings).toEqual(["Refused for: nobody@example.com."]);
    expect(textOf(part.content)).toContain("1 of 2 addresses");
    expect(mails).toHaveLength(1);
    const none = await message({ to: "none", text: "hi" });
    expect(none).toMatchObject({ success: false, error: { code: "failed" } });
    expect(mails).toHaveLength(1);
  });

  test("cannot inject headers or recipients", async () => {
    const { mails, port } = await startMail();
    await mailTo(port).message({
      to: "ada",
      subject: "a\r\nBcc: eve@example.com",
      text: "\r\n.\r\nRCPT TO:<eve@x>\r\n",
    });
    expect(mails).toHaveLength(1);
    expect(mails[0]!.to).toEqual(["ada@example.com"]);
    expect(mails[0]!.source).not.toMatch(/^Bcc:/im);
  });

  test("is not sent unencrypted unless that is allowed", async () => {
    const { mails, port } = await startMail();
    const result = await mailTo(port, { allowInsecure: false }).message({ to: "ada", text: "hi" });
    expect(result.status).toBe("failed");
    expect(textOf(result.content)).toMatch(/Nothing was (?:sent|changed)/);
    expect(mails).toEqual([]);
  });

  test("a wrong password and a missing server send nothing; a lost connection is an unknown outcome", async () => {
    const { port } = await startMail();
    const wrong = await mailTo(port, { password: "wrong" }).message({ to: "ada", text: "hi" });
    expect(wrong).toMatchObject({ error: { code: "failed" } });
    expect(textOf(wrong.content)).toContain("The key is wrong");
    const nobody = await mailTo(9).message({ to: "ada", text: "hi" });
    expect(nobody.status).toBe("failed");
    expect(textOf(nobody.content)).toContain("Nothing was sent");
    const broken = await startSocket((socket) => {
      socket.write("220 mail\r\n");
      socket.on("data", (chunk) => {
        const said = chunk.toString();
        if (said.startsWith("EHLO")) socket.write("250-mail\r\n250 AUTH PLAIN\r\n");
        else if (said.startsWith("AUTH")) socket.write("235 ok\r\n");
        else if (said.startsWith("DATA")) socket.write("354 go\r\n");
        else if (/^(?:MAIL|RCPT)/.test(said)) socket.write("250 ok\r\n");
        else socket.destroy();
      });
    });
    expect(await mailTo(broken).message({ to: "ada", text: "hi" })).toMatchObject({
      error: { code: "unknown_outcome" },
    });
  });

  test("without its package names the package to install", async () => {
    await expect(loadMailer(() => Promise.reject(new Error("gone")))).rejects.toMatchObject({
      code: "missing_package",
      message: expect.stringContaining("npm install nodemailer"),
    });
  });

  test("names missing settings", async () => {
    const { message } = openMessage({ mail: { type: "email", targets: { ada: "ada@example.com" } } });
    expect(textOf((await message({ text: "hi" })).content)).toMatch(/not ready: set `host` .* and `from`/);
  });
});

describe.skipIf(process.platform === "win32" || process.platform === "darwin")("a notification", () => {
  function openDesktop(script: string) {
    const folder = temporaryFolder("haft-desktop-");
    writeFileSync(join(folder, "notify-send"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, "notify-send"), 0o755);
    const env = { PATH: `${folder}:${process.env["PATH"]}`, HOME: folder, SECRET: "s" };
    return { folder, ...openMessage({ sessionService: { type: "desktop" } }, env) };
  }

  test("is passed to the desktop as arguments, never as options or a script", async () => {
    const { message, folder } = openDesktop('for word; do echo "$word"; done > "$HOME/words"; env >> "$HOME/words"');
    const sent = await message({ text: "--help; $(touch x)", subject: "Build" });
    expect(textOf(sent.content)).toContain("Whether somebody saw it is not known");
    const words = readFileSync(join(folder, "words"), "utf8");
    expect(words).toMatch(/^--app-name=Haft\n--\nBuild\n--help; \$\(touch x\)\n/);
    expect(words).not.toContain("SECRET");
  });

  test("that the desktop refuses is a failure", async () => {
    const { message } = openDesktop("exit 3");
    expect(textOf((await message({ text: "hi" })).content)).toContain("ended with 3: nothing was shown");
  });

  test("without the program is not ready", async () => {
    const { message } = openMessage({ sessionService: { type: "desktop" } }, { PATH: "/nowhere" });
    expect(textOf((await message({ text: "hi" })).content)).toContain("libnotify");
  });
});

test("terminal codes are removed, and the last messages can be read", async () => {
  const { message, shown } = openMessage({ term: { type: "console" } });
  await message({ text: "first" });
  await message({ text: "\u001b[2Jsecond\u202e" });
  expect(shown).toHaveLength(2);
  expect(shown[1]).not.toMatch(/[\u001b\u202e]/);
  const read = await message({ action: "read", limit: 1 });
  expect(read.details).toMatchObject({ messages: [{ id: "2", from: "haft" }] });
});
