import type { JobQueue } from "../calls/job-queue.ts";
import type { MaybePromise } from "../core/stage.ts";
import type { Spill } from "../gate/bound.ts";
import type { Undo } from "../io/files/undo.ts";
import type { SandboxOptions } from "../io/sandbox/sandbox.ts";
import type { Schedules } from "../jobs/schedules.ts";
import type { ServerQuestions } from "../mcp/client/elicitation.ts";
import type { McpHub } from "../mcp/client/mcp-hub.ts";
import type { Agent } from "../models/agent/agent.ts";
import type { Session } from "../models/agent/session-store.ts";
import type { SessionService } from "../models/agent/session-service.ts";
import type { Sessions } from "../models/agent/sessions.ts";
import type { SkillLibrary } from "../models/agent/skills.ts";
import type { Haft } from "../runtime.ts";
import type { Store } from "../store/store.ts";
import type { TokenStore } from "../store/tokens.ts";
import type { ArtifactManager } from "../tools/artifacts/artifact-manager.ts";
import type { PageRenderer } from "../tools/browser/rendered-page.ts";
import type { RenderedDocument, Surface } from "../tools/canvas/render-document.ts";
import type { OpenChannel } from "../tools/message/open-channels.ts";
import type { Workspace } from "../workspace.ts";

export interface HostConfinement {
  /** For the workspace. False if commands are not to be confined. */
  sandbox: false | Omit<SandboxOptions, "files">;
}

export interface HostArtifacts {
  manager: ArtifactManager;
  /** Keeps outputs that are too long for a result. */
  spill: Spill;
}

/** What agents show to people now. */
export interface HostCanvas {
  /** Newest first. */
  list(): Surface[];
  document(session: string): Promise<RenderedDocument | undefined>;
}

export interface HostMcp {
  hub: McpHub;
  questions: ServerQuestions;
}

/** The agents that the configuration names. */
export interface HostAgents {
  /** Whether a model is configured for the agent without a name. */
  readonly isConfigured: boolean;
  names(): readonly string[];
  /** Created at the first request. Rejects, with what to do, if the agent or its model does not exist. */
  get(name?: string): Promise<Agent>;
  readonly skills: SkillLibrary;
  /** Subscribes to what agents say with cli_response. */
  onAgentMessage(listener: (message: string) => void): () => void;
}

/** The agent that answers in a session. Throws, with what to do, if there is none. */
export type AgentFor = (session: Session) => MaybePromise<Agent>;

export interface HostSessions extends Sessions {
  /** What sessions may do with each other. */
  readonly sessionService: SessionService;
  /** Whether a model is there to answer. */
  readonly canAnswer: boolean;
}

/** What capabilities give to others, by their names. One that no other names needs no entry. */
export interface CapabilityValues {
  store: Store;
  confinement: HostConfinement;
  workspace: Workspace;
  undo: Undo;
  jobs: JobQueue;
  artifacts: HostArtifacts;
  /** Undefined if the browser is disabled. */
  browser: PageRenderer | undefined;
  web: undefined;
  canvas: HostCanvas;
  messages: readonly OpenChannel[];
  runtime: Haft;
  mcp: HostMcp;
  agents: HostAgents;
  sessions: HostSessions;
  schedules: Schedules;
  tokens: TokenStore;
}
