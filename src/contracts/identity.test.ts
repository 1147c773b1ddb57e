import { expect, test } from "vitest";
import { ANONYMOUS, type Identity, requireMode, requireScope, Scope } from "./identity.ts";

const withScopes = (...scopes: Scope[]): Identity => ({ id: "1", name: "ci", scopes, kind: "token" });

test("each scope is required by itself: no other one includes it", () => {
  for (const scope of Scope.options) {
    const others = Scope.options.filter((other) => other !== scope);
    expect(() => requireScope(withScopes(scope), scope)).not.toThrow();
    expect(() => requireScope(withScopes(...others), scope)).toThrow(
      expect.objectContaining({
        code: "forbidden",
        message: `This needs the scope "${scope}", and the token "ci" has ${others.join(", ")}`,
      }),
    );
    expect(() => requireScope(ANONYMOUS, scope, "To answer")).toThrow(/^To answer needs .* has none$/);
  }
});

test("a mode that skips questions needs the right to answer them", () => {
  for (const mode of ["acceptEdits", "bypassPermissions"] as const) {
    expect(() => requireMode(mode, withScopes("read", "call", "admin"))).toThrow(`The mode "${mode}" needs the scope`);
    expect(() => requireMode(mode, withScopes("approve"))).not.toThrow();
  }
  for (const mode of [undefined, "default", "plan", "dontAsk"] as const) {
    expect(() => requireMode(mode, ANONYMOUS)).not.toThrow();
  }
});
