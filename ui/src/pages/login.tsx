/** The page for somebody without a token: it says where to get one. */
import { useState } from "preact/hooks";
import { get } from "../daemon/api.js";
import { logIn, logOut, refused } from "../daemon/login.js";
import { words } from "../daemon/notices.js";
import { OmniglotError } from "../../../sdk/typescript/src/index.js";

export function LoginPage() {
  const [secret, setSecret] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const enter = async (token: string) => {
    setProblem(null);
    logIn(token);
    try {
      await get("/v1/sessions", { limit: 1 });
    } catch (error) {
      const isRefused = error instanceof OmniglotError && error.status === 401;
      logOut(isRefused ? (token === "" ? "This daemon wants a token." : "The daemon does not accept this token.") : words(error).text);
    }
  };
  return (
    <main class="login">
      <h1><span class="brand" aria-hidden="true">◎</span> Omniglot</h1>
      {(problem ?? refused.value) && <p class="error-box" role="alert">{problem ?? refused.value}</p>}
      <p>Run this on the daemon's machine; it opens this page with a token that is good for twelve hours:</p>
      <pre class="command" tabIndex={0}>omniglot ui</pre>
      <p class="dim">Or paste a token of your own. <code>omniglot tokens create NAME --scope drive</code> makes one. This tab keeps it until it is closed.</p>
      <form aria-label="Log in" onSubmit={(event) => (event.preventDefault(), void (secret.trim() === "" ? setProblem("Paste a token first.") : enter(secret.trim())))}>
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="off" spellcheck={false} value={secret} onInput={(event) => setSecret(event.currentTarget.value)} />
        <div class="answers">
          <button type="submit" class="primary">Log in</button>
          <button type="button" class="quiet" onClick={() => void enter("")}>This daemon has no token</button>
        </div>
      </form>
    </main>
  );
}
