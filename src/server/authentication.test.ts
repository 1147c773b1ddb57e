import { expect, test } from "vitest";
import type { IncomingHttpHeaders } from "node:http";
import { createFakeClock } from "../testing/fake-clock.ts";
import { issueToken, MemoryTokenStore, type NewTokenOptions, type TokenStore } from "../store/tokens.ts";
import { Authenticator, type AuthenticatorOptions } from "./authentication.ts";

const UNAUTHORIZED = expect.objectContaining({ code: "unauthorized" });

function open(options: Partial<AuthenticatorOptions> = {}) {
  const clock = createFakeClock();
  const tokens = new MemoryTokenStore();
  const authenticator = new Authenticator({ tokens, clock, cookieName: () => "haft_1", ...options });
  return {
    clock,
    tokens,
    authenticator,
    issue: (more: Partial<NewTokenOptions> = {}) =>
      issueToken(tokens, clock, { name: "ann", scopes: ["read"], ...more }),
    signIn: (headers: IncomingHttpHeaders, token?: string) =>
      authenticator.authenticate({ headers, token, remoteAddress: "10.0.0.1" }),
  };
}

test("the token alone decides who makes a request", async () => {
  const { issue, signIn } = open();
  const { token, stored } = await issue({ expiresInMs: 1000 });
  const { id, expiresAt } = stored;
  const ann = { id, name: "ann", scopes: ["read"], kind: "token", expiresAt };
  expect(await signIn({ authorization: `Bearer ${token}` })).toEqual(ann);
  expect(await signIn({ authorization: `bearer ${token}` })).toEqual(ann);
  expect(await signIn({}, token)).toEqual(ann);
});

test("without a token, or with one that is not known, nobody is signed in, and the answer says how", async () => {
  const { issue, signIn } = open();
  const { token } = await issue();
  const refused = expect.objectContaining({ code: "unauthorized", headers: { "www-authenticate": "Bearer" } });
  const wrong = [token, `Bearer ${token} x`, `x Bearer ${token}`, `Basic ${token}`, `Bearer ${"x".repeat(513)}`, ""];
  await expect(signIn({})).rejects.toThrow(refused);
  for (const authorization of wrong) await expect(signIn({ authorization })).rejects.toThrow(refused);
});

test("a cookie is for sessions and a header for tokens, and the header decides", async () => {
  const { issue, signIn } = open();
  const { token } = await issue();
  const { token: session } = await issue({ kind: "session" });
  expect(await signIn({ cookie: `a=b; haft_1=${session} ; c=d` })).toMatchObject({ kind: "session" });
  await expect(signIn({ cookie: `haft_1=${token}` })).rejects.toThrow(UNAUTHORIZED);
  await expect(signIn({ authorization: `Bearer ${session}` })).rejects.toThrow(UNAUTHORIZED);
  await expect(signIn({ authorization: "Basic x", cookie: `haft_1=${session}` })).rejects.toThrow(UNAUTHORIZED);
  for (const cookie of [`haft_2=${session}`, `=${session}`, session, `xhaft_1=${session}`, ""]) {
    await expect(signIn({ cookie })).rejects.toThrow(UNAUTHORIZED);
  }
});

test("a link to sign in is neither a token nor a session", async () => {
  const { issue, signIn } = open();
  const { token } = await issue({ kind: "login" });
  await expect(signIn({}, token)).rejects.toThrow(UNAUTHORIZED);
  await expect(signIn({ cookie: `haft_1=${token}` })).rejects.toThrow(UNAUTHORIZED);
});

test("a store that answers later signs in and refuses alike", async () => {
  const kept = new MemoryTokenStore();
  const slow: TokenStore = {
    ...{ add: (token) => kept.add(token), remove: (id) => kept.remove(id), list: () => kept.list() },
    find: async (hash) => kept.find(hash),
  };
  const { clock, signIn } = open({ tokens: slow });
  const { token } = await issueToken(slow, clock, { name: "ann", scopes: ["call"] });
  expect(await signIn({}, token)).toMatchObject({ name: "ann", scopes: ["call"] });
  await expect(signIn({}, `${token}x`)).rejects.toThrow(UNAUTHORIZED);
});

test("an identity is current until its token is revoked or expires", async () => {
  const { clock, tokens, issue, signIn, authenticator } = open();
  const revoked = await issue();
  const identity = await signIn({}, revoked.token);
  expect(await authenticator.isCurrent(identity)).toBe(true);
  tokens.remove(revoked.stored.id);
  expect(await authenticator.isCurrent(identity)).toBe(false);

  const expiring = await signIn({}, (await issue({ expiresInMs: 1000 })).token);
  await clock.advance(999);
  expect(await authenticator.isCurrent(expiring)).toBe(true);
  await clock.advance(1);
  expect(await authenticator.isCurrent(expiring)).toBe(false);

  const signedIn = await signIn({}, (await issue()).token);
  // One that did not come from a token here is never current.
  expect(await authenticator.isCurrent({ ...signedIn })).toBe(false);
});

test("too many wrong tokens of one address have to wait, and the right one is always accepted", async () => {
  const { clock, issue, signIn, authenticator } = open({ failures: { burst: 2, refillMs: 1000 } });
  const { token } = await issue();
  const codes = () => Array.from({ length: 2 }, () => authenticator.wrongToken("10.0.0.1").code);
  expect(codes()).toEqual(["unauthorized", "unauthorized"]);
  await expect(signIn({}, "wrong")).rejects.toThrow(
    expect.objectContaining({ code: "too_many_requests", headers: { "retry-after": "1", connection: "close" } }),
  );
  expect(await signIn({}, token)).toMatchObject({ name: "ann" });
  expect(authenticator.wrongToken("10.0.0.2").code).toBe("unauthorized");
  // One more is forgotten each second, and no more than one is counted above the limit.
  await clock.advance(2000);
  expect(codes()).toEqual(["unauthorized", "too_many_requests"]);
  await clock.advance(60_000);
  expect(codes()).toEqual(["unauthorized", "unauthorized"]);
});

test("by default ten wrong tokens are allowed at once, and then one each six seconds", async () => {
  const { clock, authenticator } = open();
  const refusals = Array.from({ length: 11 }, () => authenticator.wrongToken());
  expect(refusals.findIndex(({ code }) => code === "too_many_requests")).toBe(10);
  expect(refusals[10]?.headers).toMatchObject({ "retry-after": "6" });
  await clock.advance(5999);
  expect(authenticator.wrongToken().code).toBe("too_many_requests");
  await clock.advance(12_000);
  expect(authenticator.wrongToken().code).toBe("unauthorized");
});
