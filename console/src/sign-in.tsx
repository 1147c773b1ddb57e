import { KeyRound } from "lucide-react";
import { useState } from "react";
import { api } from "./api.ts";
import { defineWords, useWords } from "./language.tsx";

const words = defineWords({
  en: {
    title: "Sign in to Haft",
    lead: "Open the address that the server printed, or paste a token. Create one with: haft token create",
    token: "Token",
    submit: "Sign in",
  },
  zh: {
    title: "登录 Haft",
    lead: "打开服务器打印的地址，或在此粘贴令牌。创建新令牌：haft token create",
    token: "令牌",
    submit: "登录",
  },
});

/** Ends the session. The page then shows the sign-in. */
export async function signOut(): Promise<void> {
  await api.session.logout().catch(() => undefined);
  location.reload();
}

export function SignIn({ onSignedIn }: { onSignedIn: () => void }) {
  const w = useWords(words);
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  return (
    <main className="sign-in">
      <form
        className="panel"
        onSubmit={(event) => {
          event.preventDefault();
          api.session.login({ token: token.trim() }).then(onSignedIn, (error: Error) => setProblem(error.message));
        }}
      >
        <div className="body">
          <KeyRound size={26} aria-hidden />
          <h1>{w.title}</h1>
          <p className="muted">{w.lead}</p>
          <label>
            <span className="sr-only">{w.token}</span>
            <input
              className="input mono"
              type="password"
              autoComplete="off"
              placeholder={w.token}
              value={token}
              onChange={({ target }) => setToken(target.value)}
            />
          </label>
          {problem ? (
            <p className="notice bad" role="alert">
              {problem}
            </p>
          ) : null}
          <button className="button primary" disabled={token.trim() === ""}>
            {w.submit}
          </button>
        </div>
      </form>
    </main>
  );
}
