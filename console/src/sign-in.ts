import { useEffect } from "react";
import { api, queries } from "./api.ts";
import { setConnection } from "./connection.ts";

/** Tells the other tabs of this browser, which have the same cookie. */
const tabs = new BroadcastChannel("haft-sign-in");

/** The session is there: everything is fetched again. */
function signedIn(): void {
  setConnection({ isSignedIn: true });
  void queries.invalidateQueries();
}

/** Exchanges a token for a session. */
export async function signIn(token: string): Promise<void> {
  await api.session.login({ token });
  tabs.postMessage("signed-in");
  signedIn();
}

/** Ends the session. The page then shows the sign-in. */
export async function signOut(): Promise<void> {
  await api.session.logout().catch(() => undefined);
  location.reload();
}

/** Another tab has signed in, or the user comes back to this one: the cookie may be valid now. */
export function useOtherTabs(): void {
  useEffect(() => {
    const check = (): void =>
      void api.session.show().then(signedIn, () => {
        // Still signed out.
      });
    tabs.addEventListener("message", check);
    return () => tabs.removeEventListener("message", check);
  }, []);
}
