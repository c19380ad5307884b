/** The parts of an item, each as what it is; what is not known is shown as JSON. */
import type { ContentPart } from "../../../sdk/typescript/src/index.js";
import { Json } from "../text/json.js";
import { Long, LongText } from "../text/long.js";
import { Markdown } from "../text/markdown.js";
import { usageWords } from "../text/numbers.js";
import { brief } from "../text/visible.js";
import { FileRef } from "./file.js";
import { Image } from "./image.js";

/** The characters of a message that are shown at first. */
const SHOWN = 65_536;

export function Words({ text, end = false }: { text: string; end?: boolean }) {
  return <Long text={text} limit={SHOWN} end={end}>{(shown) => <Markdown text={shown} />}</Long>;
}

export function Part({ part, directory }: { part: ContentPart; directory?: string | null | undefined }) {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text === "" ? null : <Words text={part.text} />;
    case "image":
      return <Image path={part.path} mime={part.mime ?? null} />;
    case "file_ref":
      return <FileRef path={part.path} action={part.action} diff={part.diff} blob={part.diff_blob} directory={directory} />;
    case "status":
      return <p class="dim">{brief(part.label)} <LongText text={part.detail ?? ""} /> {part.usage ? usageWords(part.usage) : ""}</p>;
    case "json":
      return <Json value={part.json} open={1} />;
    default:
      return <Json value={part} open={1} />;
  }
}
