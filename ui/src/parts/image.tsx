/** Images of the daemon, fetched with the token and shown from memory. */
import { useEffect, useState } from "preact/hooks";
import { bytes, isOurs } from "../daemon/api.js";
import { visible } from "../text/visible.js";

/** Only these are drawn; a picture in SVG may have more than a picture. */
const DRAWN = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;

export function Image({ path, mime }: { path: string; mime: string | null }) {
  const [url, setUrl] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isFetched = isOurs(path);
  useEffect(() => {
    if (!isFetched) return;
    let made: string | undefined;
    let isGone = false;
    bytes(path)
      .then((response) => response.blob())
      .then((blob) => {
        if (isGone) return;
        if (!DRAWN.test(blob.type.split(";")[0] ?? "")) return setProblem(`not drawn: ${blob.type || "unknown type"}`);
        made = URL.createObjectURL(blob);
        setUrl(made);
      })
      .catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
    return () => {
      isGone = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [path]);
  if (url) return <img class="picture" src={url} alt={`Image ${mime ?? ""}`} />;
  return <p class="dim">Image {visible(path)}{problem ? ` (${problem})` : isFetched ? " …" : " (on the daemon's machine)"}</p>;
}
