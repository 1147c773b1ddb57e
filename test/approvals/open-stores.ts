// The places where approvals are kept, each opened as often as there are processes to play.
import { rmSync } from "node:fs";
import { type CallJournal, MemoryJournal } from "../../src/calls/call-journal.ts";
import { type ApprovalStore, MemoryApprovalStore } from "../../src/calls/approval.ts";
import { startPostgres } from "../../src/store/start-postgres.fixture.ts";
import { openStore, type StoreLocation } from "../../src/store/store.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

export interface OpenedStore {
  approvals: ApprovalStore;
  journal: CallJournal;
  close(): Promise<void>;
}

export interface StoreFactory {
  name: string;
  /** Another process's view of the same place. */
  open(): Promise<OpenedStore>;
  remove(): Promise<void>;
}

export async function memoryStoreFactory(): Promise<StoreFactory> {
  const [approvals, journal] = [new MemoryApprovalStore(), new MemoryJournal()];
  return {
    name: "memory",
    open: async () => ({ approvals, journal, close: async () => undefined }),
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
      const { approvals, journal, close } = await openStore(place);
      let isOpen = true;
      const one = { approvals, journal, close: async () => (isOpen ? ((isOpen = false), close()) : undefined) };
      opened.push(one);
      return one;
    },
    closeAll: async () => void (await Promise.all(opened.map(({ close }) => close()))),
  };
}
