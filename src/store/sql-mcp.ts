import type { Pin, PinStore } from "../mcp/client/pin-store.ts";
import type { StoredSignIn, TokenStore } from "../mcp/client/token-store.ts";
import { after } from "./after.ts";
import type { SqlDatabase } from "./sql-database.ts";
import type { StoreModule } from "./store-part.ts";

interface PinRow {
  server: string;
  tool: string;
  hash: string;
  definition: string;
  pinned_at: number;
}

/** Which definitions of MCP servers a person has seen. */
export const pinsModule: StoreModule<PinStore> = {
  migrations: {
    name: "mcp_pins",
    versions: [
      [
        `CREATE TABLE mcp_pins (
           server TEXT NOT NULL,
           tool TEXT NOT NULL,
           hash TEXT NOT NULL,
           definition TEXT NOT NULL,
           pinned_at BIGINT NOT NULL,
           PRIMARY KEY (server, tool)
         )`,
      ],
      ["CREATE TABLE mcp_pins_off (server TEXT NOT NULL, tool TEXT NOT NULL, PRIMARY KEY (server, tool))"],
    ],
  },
  open: ({ database }) => createPinStore(database),
};

function createPinStore(database: SqlDatabase): PinStore {
  return {
    list: (server) =>
      after(
        database.all<PinRow>("SELECT * FROM mcp_pins WHERE server = ? ORDER BY tool", [server]),
        (rows): readonly Pin[] => rows.map(({ pinned_at, ...pin }) => ({ ...pin, pinnedAt: pinned_at })),
      ),
    put: ({ server, tool, hash, definition, pinnedAt }) =>
      after(
        database.run(
          "INSERT INTO mcp_pins (server, tool, hash, definition, pinned_at) VALUES (?, ?, ?, ?, ?) " +
            "ON CONFLICT (server, tool) DO UPDATE SET hash = excluded.hash, definition = excluded.definition, " +
            "pinned_at = excluded.pinned_at",
          [server, tool, hash, definition, pinnedAt],
        ),
        () => undefined,
      ),
    remove: (server, tool) =>
      after(
        tool === undefined
          ? database.run("DELETE FROM mcp_pins WHERE server = ?", [server])
          : database.run("DELETE FROM mcp_pins WHERE server = ? AND tool = ?", [server, tool]),
        () => undefined,
      ),
    switchedOff: (server) =>
      after(
        database.all<{ tool: string }>("SELECT tool FROM mcp_pins_off WHERE server = ?", [server]),
        (rows): readonly string[] => rows.map(({ tool }) => tool).sort(),
      ),
    switchTool: (server, tool, isOn) =>
      after(
        isOn
          ? database.run("DELETE FROM mcp_pins_off WHERE server = ? AND tool = ?", [server, tool])
          : database.run(
              "INSERT INTO mcp_pins_off (server, tool) VALUES (?, ?) ON CONFLICT (server, tool) DO NOTHING",
              [server, tool],
            ),
        () => undefined,
      ),
  };
}

/** Tokens of remote MCP servers: secret, and readable by this user alone as the whole store is. */
export const signInsModule: StoreModule<TokenStore> = {
  migrations: {
    name: "mcp_sign_ins",
    versions: [["CREATE TABLE mcp_sign_ins (server TEXT NOT NULL PRIMARY KEY, sign_in TEXT NOT NULL)"]],
  },
  open: ({ database }) => createSignInStore(database),
};

function createSignInStore(database: SqlDatabase): TokenStore {
  return {
    get: (server) =>
      after(database.all<{ sign_in: string }>("SELECT sign_in FROM mcp_sign_ins WHERE server = ?", [server]), ([row]) =>
        row ? (JSON.parse(row.sign_in) as StoredSignIn) : undefined,
      ),
    set: (server, signIn) =>
      after(
        database.run(
          "INSERT INTO mcp_sign_ins (server, sign_in) VALUES (?, ?) " +
            "ON CONFLICT (server) DO UPDATE SET sign_in = excluded.sign_in",
          [server, JSON.stringify(signIn)],
        ),
        () => undefined,
      ),
    delete: (server) => after(database.run("DELETE FROM mcp_sign_ins WHERE server = ?", [server]), () => undefined),
  };
}
