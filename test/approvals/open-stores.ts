// The places where approvals are kept, each opened as often as there are processes to play.
import { rmSync } from "node:fs";
import { type CallStore, MemoryCallStore } from "../../src/calls/call-store.ts";
import { startPostgres } from "../../src/store/postgres/start-postgres.fixture.ts";
import { openStore, type StoreLocation } from "../../src/store/store.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

export interface OpenedStore {
  calls: CallStore;
  close(): Promise<void>;
}

export interface StoreFactory {
  name: string;
  /** Another process's view of the same place. */
  open(): Promise<OpenedStore>;
  remove(): Promise<void>;
}

export async function memoryStoreFactory(): Promise<StoreFactory> {
  const calls = new MemoryCallStore();
  return {
    name: "memory",
    open: async () => ({ calls, close: async () => undefined }),
    remove: async () => undefined,
  };
}

export async function sqliteStoreFactory(): Promise<StoreFactory & { place: StoreLocation }> {
  const folder = temporaryFolder("haft-approvals-");
  const place = { stateFolder: folder };
  const { open, closeAll } = opener(place);
  const remove = async (): Promise<void> => {
    await closeAll();
    rmSync(folder, { recursive: true, force: true });
  };
  return { name: "SQLite", place, open, remove };
}

export async function postgresStoreFactory(): Promise<StoreFactory & { place: StoreLocation }> {
  const server = await startPostgres();
  const place = { url: await server.createDatabase() };
  const { open, closeAll } = opener(place);
  const remove = async (): Promise<void> => {
    await closeAll();
    await server.stop();
  };
  return { name: "PostgreSQL", place, open, remove };
}

function opener(place: StoreLocation): { open: StoreFactory["open"]; closeAll: () => Promise<void> } {
  const opened: OpenedStore[] = [];
  return {
    open: async () => {
      const { calls, close } = await openStore(place);
      let isOpen = true;
      const one = { calls, close: async () => (isOpen ? ((isOpen = false), close()) : undefined) };
      opened.push(one);
      return one;
    },
    closeAll: async () => void (await Promise.all(opened.map(({ close }) => close()))),
  };
}
