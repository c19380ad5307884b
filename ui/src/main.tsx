/** The entry: takes the token out of the address, begins to follow, and shows the page. */
import { render } from "preact";
import { App } from "./app.js";
import { takeFromAddress } from "./daemon/login.js";
import { follow } from "./daemon/stream.js";
import { beginKeys } from "./keys.js";
import { parse, route } from "./route.js";
import { applyTheme, tellTab } from "./theme.js";

takeFromAddress();
applyTheme();
tellTab("Omniglot", 0);
addEventListener("hashchange", () => {
  takeFromAddress();
  route.value = parse(location.hash);
});
follow();
beginKeys();
const place = document.getElementById("app");
if (place) render(<App />, place);
